"""Numbers, amounts, dates and times of day in both languages."""

from datetime import date

from stages.demo.wording import Wording, paired

SMALL = {
    2: Wording("zwei", "two"),
    3: Wording("drei", "three"),
    4: Wording("vier", "four"),
    5: Wording("fünf", "five"),
    6: Wording("sechs", "six"),
    7: Wording("sieben", "seven"),
    8: Wording("acht", "eight"),
    9: Wording("neun", "nine"),
    10: Wording("zehn", "ten"),
    11: Wording("elf", "eleven"),
    12: Wording("zwölf", "twelve"),
}
MONTHS = paired(
    "Januar/January Februar/February März/March April/April Mai/May Juni/June Juli/July "
    "August/August September/September Oktober/October November/November Dezember/December"
)
WEEKDAYS = paired(
    "Montag/Monday Dienstag/Tuesday Mittwoch/Wednesday Donnerstag/Thursday Freitag/Friday "
    "Samstag/Saturday Sonntag/Sunday"
)


def cardinal(number: int) -> Wording:
    """Return a number from 2 on, in words up to twelve: 1.250 / 1,250."""
    if number in SMALL:
        return SMALL[number]
    grouped = f"{number:,}"
    return Wording(grouped.replace(",", "."), grouped)


def decimal(tenths: int) -> Wording:
    """Return a number of tenths, the last digit shown only if it counts: 3,5 / 3.5."""
    whole, rest = divmod(tenths, 10)
    english = f"{whole}.{rest}" if rest else f"{whole}"
    return Wording(english.replace(".", ","), english)


def percent(tenths: int) -> Wording:
    """Return a percentage given in tenths."""
    number = decimal(tenths)
    return Wording(f"{number.german} Prozent", f"{number.english} per cent")


def euros(tenths: int, scale: Wording) -> Wording:
    """Return an amount given in tenths of ``scale``, which is MILLIONS or BILLIONS."""
    number = decimal(tenths)
    return Wording(
        f"{number.german} {scale.german} Euro", f"{number.english} {scale.english} euros"
    )


MILLIONS = Wording("Millionen", "million")
BILLIONS = Wording("Milliarden", "billion")


def day(when: date) -> Wording:
    """Return a day for use after am and on: 3. Mai 1999 / 3 May 1999."""
    month = MONTHS[when.month - 1]
    return Wording(
        f"{when.day}. {month.german} {when.year}", f"{when.day} {month.english} {when.year}"
    )


def weekday(when: date) -> Wording:
    """Return the name of the day of the week on which ``when`` falls."""
    return WEEKDAYS[when.weekday()]


def time_of_day(minutes: int) -> Wording:
    """Return a time of day, given in minutes since midnight: 15.30 Uhr / 15.30."""
    clock = f"{minutes // 60}.{minutes % 60:02}"
    return Wording(f"{clock} Uhr", clock)
