"""The language of a text among some, whose codes may have scripts and regions."""

import pytest

from nmt_core.text.language_detection import load_scorer

SIMPLIFIED, TRADITIONAL = "这个房子是红色的，狗在睡觉。", "這個房子是紅色的，狗在睡覺。"


@pytest.mark.parametrize(
    ("text", "among", "language"),
    [
        ("Das Haus ist rot.", "fr de en", "de"),
        (SIMPLIFIED, "zh-Hant zh-Hans en", "zh-Hans"),
        (TRADITIONAL, "zh-Hans zh-Hant en", "zh-Hant"),
        (TRADITIONAL, "zh zh-TW", "zh-TW"),
        (SIMPLIFIED, "zh-TW zh", "zh"),
        ("Кућа је црвена и пас спава.", "sr-Latn sr en", "sr"),
        ("Kuća je crvena i pas spava.", "sr sr-Latn en", "sr-Latn"),
        ("O carro é vermelho e bonito.", "en pt-PT pt-BR", "pt-PT"),
        ("Huset er rødt og hunden sover.", "en nb", "nb"),
        ("家は赤いです。", "en ja", "ja"),
        ("البيت أحمر والكلب نائم.", "he ar en", "ar"),
        ("42!", "fr de en", "fr"),
        ("", "fr de", "fr"),
        ("Das Haus ist rot.", "mic gsw", "mic"),
    ],
)
def test_likeliest_language_is_first(text, among, language):
    ranked = load_scorer().rank(text, among.split())

    assert ranked[0][0] == language
    shares = [share for _, share in ranked]
    assert shares == sorted(shares, reverse=True)
    assert 0 <= sum(shares) <= 1.0001
