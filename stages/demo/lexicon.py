"""The words of the demo language but its nouns."""

from stages.demo.german import Case
from stages.demo.wording import Wording, listed, paired
from stages.demo.words import (
    PROBLEM,
    SCHEME,
    TEXT,
    Adjective,
    Kind,
    Verb,
)

_ANY_SCHEME = SCHEME | Kind.REPORT | Kind.PROPOSAL | Kind.LAW
ADJECTIVES = (
    Adjective("wichtig", "important", TEXT | SCHEME | Kind.MEETING),
    Adjective("neu", "new", TEXT | SCHEME | Kind.BODY | Kind.PERSON | Kind.ISSUE),
    Adjective("groß", "large", Kind.SIZED),
    Adjective("klein", "small", Kind.SIZED),
    Adjective("europäisch", "European", SCHEME | Kind.LAW | Kind.VALUE | Kind.PEOPLE),
    Adjective("gemeinsam", "common", SCHEME),
    Adjective("ausführlich", "detailed", Kind.REPORT | Kind.PROPOSAL),
    Adjective("ausgewogen", "balanced", _ANY_SCHEME),
    Adjective("ehrgeizig", "ambitious", SCHEME | Kind.PROPOSAL | Kind.LAW),
    Adjective("umfassend", "comprehensive", _ANY_SCHEME | Kind.TREATY),
    Adjective("vorläufig", "provisional", TEXT | Kind.PLAN),
    Adjective("endgültig", "final", Kind.PROPOSAL | Kind.REPORT),
    Adjective("überarbeitet", "revised", TEXT | Kind.PLAN),
    Adjective("mutig", "bold", Kind.PLAN | Kind.PROPOSAL),
    Adjective("unzureichend", "inadequate", Kind.REPORT | Kind.LAW | Kind.PLAN),
    Adjective("hervorragend", "excellent", Kind.REPORT | Kind.PROPOSAL),
    Adjective("umstritten", "controversial", TEXT | SCHEME),
    Adjective("vernünftig", "sensible", Kind.PROPOSAL | SCHEME),
    Adjective("streng", "strict", Kind.LAW),
    Adjective("kompliziert", "complicated", Kind.LAW | Kind.TREATY | Kind.POLICY),
    Adjective("nachhaltig", "sustainable", SCHEME),
    Adjective("wirksam", "effective", SCHEME | Kind.LAW),
    Adjective("langfristig", "long-term", SCHEME),
    Adjective("national", "national", SCHEME | Kind.LAW),
    Adjective("transparent", "transparent", Kind.POLICY),
    Adjective("modern", "modern", Kind.POLICY | Kind.LAW),
    Adjective("teuer", "expensive", Kind.PLAN, inflected_stem="teur"),
    Adjective("ernst", "serious", Kind.ISSUE),
    Adjective("wachsend", "growing", PROBLEM),
    Adjective("dauerhaft", "lasting", Kind.VALUE),
    Adjective("hoch", "high", Kind.QUANTITY, inflected_stem="hoh"),
    Adjective("niedrig", "low", Kind.QUANTITY),
    Adjective("jung", "young", Kind.HUMAN),
    Adjective("betroffen", "affected", Kind.PEOPLE),
    Adjective("zuständig", "competent", Kind.BODY | Kind.PERSON),
    Adjective("unabhängig", "independent", Kind.BODY),
    Adjective("erfahren", "experienced", Kind.PERSON),
    Adjective("lang", "long", Kind.MEETING),
    Adjective("öffentlich", "public", Kind.MEETING),
)
_VERY, _TOO = Wording("sehr", "very"), Wording("zu", "too")
_PARTICULARLY = Wording("besonders", "particularly")
_COMPLETELY = Wording("völlig", "completely")
Quality = tuple[Wording, tuple[Wording, ...]]
"""What can be said of a text or a plan with to be, and in which degrees."""

MERITS: tuple[Quality, ...] = (
    (Wording("wichtig", "important"), (_VERY, _PARTICULARLY)),
    (Wording("ausgewogen", "balanced"), (_VERY, _PARTICULARLY)),
    (Wording("vernünftig", "sensible"), (_VERY,)),
    (Wording("wirksam", "effective"), (_VERY, _PARTICULARLY)),
    (Wording("annehmbar", "acceptable"), ()),
    (Wording("notwendig", "necessary"), ()),
)
FLAWS: tuple[Quality, ...] = (
    (Wording("umstritten", "controversial"), (_VERY, _PARTICULARLY, _TOO)),
    (Wording("kompliziert", "complicated"), (_VERY, _PARTICULARLY, _TOO)),
    (Wording("unklar", "unclear"), (_VERY, _COMPLETELY, _TOO)),
    (Wording("unzureichend", "inadequate"), (_COMPLETELY,)),
    (Wording("überflüssig", "superfluous"), (_COMPLETELY,)),
    (Wording("veraltet", "outdated"), (_COMPLETELY,)),
)

NATIONALITIES = tuple(
    Adjective(*pair, Kind.BODY | Kind.PERSON | Kind.PEOPLE)
    for pair in paired(
        "deutsch/German französisch/French italienisch/Italian spanisch/Spanish polnisch/Polish "
        "portugiesisch/Portuguese österreichisch/Austrian ungarisch/Hungarian griechisch/Greek "
        "schwedisch/Swedish finnisch/Finnish dänisch/Danish irisch/Irish belgisch/Belgian "
        "rumänisch/Romanian bulgarisch/Bulgarian estnisch/Estonian lettisch/Latvian "
        "litauisch/Lithuanian slowakisch/Slovak niederländisch/Dutch"
    )
)
COUNTRIES = paired(
    "Deutschland/Germany Frankreich/France Italien/Italy Spanien/Spain Polen/Poland "
    "Portugal/Portugal Österreich/Austria Ungarn/Hungary Griechenland/Greece "
    "Schweden/Sweden Finnland/Finland Dänemark/Denmark Irland/Ireland Belgien/Belgium "
    "Rumänien/Romania Bulgarien/Bulgaria Estland/Estonia Lettland/Latvia Litauen/Lithuania "
    "Slowenien/Slovenia Norwegen/Norway Island/Iceland"
)
COUNTRIES_WITH_ARTICLE = (
    Wording("Slowakei", "Slovakia"),
    Wording("Türkei", "Turkey"),
    Wording("Schweiz", "Switzerland"),
    Wording("Ukraine", "Ukraine"),
)
"""Feminine: die Slowakei, in der Slowakei."""

SURNAMES = listed(
    "Andersson Bakker Becker Bianchi Costa Dubois Eriksen Fernández García Hansen Horváth Jansen "
    "Kowalski Lambert Larsen Leroy Lindqvist Marini Martens Moreau Nagy Nielsen Novák Papadakis "
    "Pereira Petersen Popescu Ricci Rossi Schäfer Silva Svensson Virtanen Wagner Weber Zieliński"
    ""
)
TITLES_OF_PROGRAMMES = paired(
    "Jugend/Youth Klima/Climate Kultur/Culture Energie/Energy Forschung/Research "
    "Bildung/Education Gesundheit/Health Küste/Coast Handwerk/Crafts Sprachen/Languages"
)

TRANSITIVE: tuple[Verb, ...] = (
    Verb("ab|lehnen", "reject", TEXT | SCHEME),
    Verb("an|nehmen", "adopt", TEXT | Kind.PLAN, third="nimmt", perfect="genommen"),
    Verb("unterstützen", "support", TEXT | SCHEME | Kind.PEOPLE),
    Verb("prüfen", "examine", TEXT | SCHEME, progressive=True),
    Verb("vor|legen", "submit", Kind.PROPOSAL | Kind.REPORT | Kind.PLAN, progressive=True),
    Verb("begrüßen", "welcome", TEXT | SCHEME),
    Verb("ändern", "amend", Kind.PROPOSAL | Kind.LAW | Kind.TREATY, progressive=True),
    Verb("billigen", "approve", TEXT | Kind.PLAN),
    Verb("verteidigen", "defend", TEXT | SCHEME | Kind.VALUE),
    Verb("kritisieren", "criticise", TEXT | SCHEME | Kind.PERSON | Kind.BODY),
    Verb("zurück|ziehen", "withdraw", Kind.PROPOSAL, perfect="gezogen", progressive=True),
    Verb("um|setzen", "implement", Kind.LAW | Kind.TREATY | Kind.PLAN, progressive=True),
    Verb("vor|bereiten", "prepare", TEXT | Kind.PLAN | Kind.MEETING, progressive=True),
    Verb("veröffentlichen", "publish", Kind.REPORT | Kind.PROPOSAL, progressive=True),
    Verb("unterzeichnen", "sign", Kind.TREATY, progressive=True),
    Verb("ratifizieren", "ratify", Kind.TREATY, progressive=True),
    Verb("erörtern", "discuss", TEXT | SCHEME | PROBLEM, progressive=True),
    Verb("überarbeiten", "revise", TEXT | Kind.PLAN, progressive=True),
    Verb("aus|arbeiten", "draw up", TEXT | Kind.PLAN, progressive=True),
    Verb("verbessern", "improve", TEXT | SCHEME | Kind.VALUE, progressive=True),
    Verb("an|kündigen", "announce", Kind.PLAN | Kind.LAW | Kind.PROPOSAL, progressive=True),
    Verb("lesen", "read", TEXT, third="liest", perfect="gelesen", progressive=True),
    Verb("übersetzen", "translate", TEXT, progressive=True),
    Verb("verstehen", "understand", TEXT | SCHEME, perfect="verstanden"),
    Verb("reformieren", "reform", Kind.POLICY, progressive=True),
    Verb("finanzieren", "finance", SCHEME, progressive=True),
    Verb("vereinfachen", "simplify", Kind.POLICY | Kind.LAW, progressive=True),
    Verb("überwachen", "monitor", SCHEME | Kind.LAW, progressive=True),
    Verb("ein|führen", "introduce", Kind.PLAN | Kind.LAW, progressive=True),
    Verb("entwickeln", "develop", SCHEME, progressive=True),
    Verb("fördern", "promote", Kind.VALUE),
    Verb("stärken", "strengthen", Kind.VALUE | Kind.POLICY | Kind.BODY),
    Verb("gewährleisten", "ensure", Kind.VALUE),
    Verb("bekämpfen", "combat", Kind.ILL, progressive=True),
    Verb("verringern", "reduce", Kind.ILL, progressive=True),
    Verb("verhindern", "prevent", PROBLEM),
    Verb("überwinden", "overcome", Kind.ISSUE, perfect="überwunden", progressive=True),
    Verb("schützen", "protect", Kind.PEOPLE),
    Verb("informieren", "inform", Kind.HUMAN | Kind.BODY | Kind.PERSON, progressive=True),
    Verb("an|hören", "hear", Kind.PERSON, progressive=True),
    Verb(
        "ein|laden",
        "invite",
        Kind.PERSON | Kind.HUMAN,
        third="lädt",
        perfect="geladen",
        progressive=True,
    ),
    Verb("eröffnen", "open", Kind.MEETING),
    Verb("verschieben", "postpone", Kind.MEETING, perfect="verschoben", progressive=True),
    Verb("ab|sagen", "cancel", Kind.MEETING, progressive=True),
    Verb("fort|setzen", "continue", Kind.MEETING | SCHEME, progressive=True),
    Verb("ab|schließen", "conclude", Kind.MEETING, perfect="geschlossen", progressive=True),
)
OBLIQUE: tuple[Verb, ...] = (
    Verb("zu|stimmen", "agree to", TEXT | Kind.PLAN, case=Case.DATIVE),
    Verb("danken", "thank", Kind.PERSON | Kind.BODY, case=Case.DATIVE),
    Verb("helfen", "help", Kind.PEOPLE, third="hilft", perfect="geholfen", case=Case.DATIVE),
    Verb("vertrauen", "trust", Kind.PERSON | Kind.BODY, case=Case.DATIVE),
    Verb(
        "widersprechen",
        "contradict",
        Kind.PERSON,
        third="widerspricht",
        perfect="widersprochen",
        case=Case.DATIVE,
    ),
    Verb("stimmen", "vote for", TEXT, preposition="für"),
    Verb("stimmen", "vote against", TEXT, preposition="gegen"),
    Verb("warten", "wait for", TEXT, preposition="auf", progressive=True),
    Verb(
        "sprechen",
        "speak about",
        TEXT | SCHEME | PROBLEM,
        third="spricht",
        perfect="gesprochen",
        preposition="über",
        progressive=True,
    ),
    Verb(
        "teil|nehmen",
        "take part in",
        Kind.MEETING,
        third="nimmt",
        perfect="genommen",
        preposition="an",
        case=Case.DATIVE,
        progressive=True,
    ),
    Verb(
        "bei|tragen",
        "contribute to",
        Kind.VALUE,
        third="trägt",
        perfect="getragen",
        preposition="zu",
        case=Case.DATIVE,
    ),
    Verb(
        "zurück|kommen",
        "come back to",
        Kind.ISSUE | Kind.PROPOSAL,
        perfect="gekommen",
        auxiliary="sein",
        preposition="auf",
        progressive=True,
    ),
)
TRANSFER: tuple[Verb, ...] = (
    Verb("vor|legen", "submit", Kind.PROPOSAL | Kind.REPORT | Kind.PLAN, progressive=True),
    Verb("übermitteln", "forward", TEXT, progressive=True),
    Verb("vor|stellen", "present", TEXT | Kind.PLAN, progressive=True),
    Verb("erläutern", "explain", TEXT | SCHEME, progressive=True),
)
"""Verbs of giving: a dative before the accusative, in English a to after the object."""

FAVOURABLE = frozenset(
    (
        "stimmen für",
        *listed("annehmen unterstützen begrüßen billigen verteidigen zustimmen umsetzen"),
    )
)
"""What is done to good things."""
HOSTILE = frozenset(
    (
        "stimmen gegen",
        *listed("ablehnen kritisieren zurückziehen ändern überarbeiten verbessern"),
    )
)
"""What is done to bad things."""
STANCES = tuple(
    verb
    for verb in (*TRANSITIVE, *OBLIQUE)
    if verb.name in (FAVOURABLE | HOSTILE) and not verb.progressive
)
"""Verbs of being for or against."""

AMENDMENT_ACTIONS = frozenset(
    listed(
        "ablehnen annehmen unterstützen prüfen begrüßen billigen verteidigen kritisieren erörtern "
        "zurückziehen"
    )
)
"""What is done to Änderungsantrag 12."""
ARTICLE_ACTIONS = frozenset(
    listed("ändern prüfen kritisieren verteidigen umsetzen überarbeiten verbessern erörtern lesen")
)
"""What is done to Artikel 12."""
HUMAN_ACTIONS = frozenset(listed("lesen übersetzen verstehen helfen"))
"""What only people do."""

SAYING: tuple[Verb, ...] = (
    Verb("glauben", "believe"),
    Verb("wissen", "know", third="weiß", perfect="gewusst"),
    Verb("hoffen", "hope"),
    Verb("sagen", "say"),
    Verb("meinen", "think"),
    Verb("fest|stellen", "note"),
    Verb("bedauern", "regret"),
    Verb("befürchten", "fear"),
    Verb("betonen", "stress"),
    Verb("bezweifeln", "doubt"),
    Verb("vermuten", "suspect"),
    Verb("hinzu|fügen", "add"),
    Verb("zu|geben", "admit", third="gibt", perfect="gegeben"),
    Verb("bestätigen", "confirm"),
)
"""Verbs with a dass clause."""

ASSERTIONS = frozenset(listed("sagen feststellen betonen hinzufügen zugeben bestätigen"))
"""Those of them that are acts of speech, and go with the perfect and with must."""

BE = Verb("sein", "be", third="ist", perfect="gewesen", auxiliary="sein")
COST = Verb("kosten", "cost")
RISE = Verb("steigen", "rise", perfect="gestiegen", auxiliary="sein")
FALL = Verb("sinken", "fall", perfect="gesunken", auxiliary="sein")
TAKE_PLACE = Verb("statt|finden", "take place", perfect="gefunden")
DECLARE = Verb("erklären", "declare")
PROVIDE = Verb("bereit|stellen", "provide")
SPEND = Verb("aus|geben", "spend", third="gibt", perfect="gegeben")
NEED = Verb("brauchen", "need")
CALL_ON = Verb("auf|fordern", "call on")
DECIDE = Verb("beschließen", "decide", perfect="beschlossen")
TRY = Verb("versuchen", "try", progressive=True)
