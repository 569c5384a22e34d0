"""The words of the demo language."""

from stages.demo.german import Case
from stages.demo.wording import Wording, listed, paired
from stages.demo.words import (
    PROBLEM,
    SCHEME,
    TEXT,
    Adjective,
    Kind,
    Verb,
    compound,
    noun,
)

_BODIES = (
    noun("die Kommission, =", "Commission", Kind.BODY),
    noun("der Rat, -es", "Council", Kind.BODY),
    noun("das Parlament, -s", "Parliament", Kind.BODY, bare=True),
    noun("der Gerichtshof, -s", "Court of Justice", Kind.BODY),
    noun("die Fraktion, =, -en", "group", Kind.BODY),
    noun("der Mitgliedstaat, -s, -en", "Member State", Kind.BODY),
    noun("die Regierung, =, -en", "government", Kind.BODY),
    noun("die Delegation, =, -en", "delegation", Kind.BODY),
    noun("die Behörde, =, -n", "authority", Kind.BODY),
    noun("die Arbeitsgruppe, =, -n", "working party", Kind.BODY),
    noun("der Ausschuss, -es, Ausschüsse", "committee", Kind.BODY),
)
_PERSONS = (
    noun("der Berichterstatter, -s, =", "rapporteur", Kind.PERSON),
    noun("die Berichterstatterin, =, -nen", "rapporteur", Kind.PERSON),
    noun("der Minister, -s, =", "minister", Kind.PERSON),
    noun("die Ministerin, =, -nen", "minister", Kind.PERSON),
    noun("der Kommissar, -s, -e", "Commissioner", Kind.PERSON),
    noun("der Präsident, -en, -en", "President", Kind.PERSON),
    noun("der Kollege, -n, -n", "colleague", Kind.PERSON),
    noun("der Experte, -n, -n", "expert", Kind.PERSON),
)
_PEOPLE = (
    noun("der Bürger, -s, =", "citizen", Kind.PEOPLE | Kind.HUMAN),
    noun("der Landwirt, -s, -e", "farmer", Kind.PEOPLE | Kind.HUMAN),
    noun("der Arbeitnehmer, -s, =", "worker", Kind.PEOPLE | Kind.HUMAN),
    noun("der Verbraucher, -s, =", "consumer", Kind.PEOPLE | Kind.HUMAN),
    noun("der Fischer, -s, =", "fisherman", Kind.PEOPLE | Kind.HUMAN),
    noun("der Student, -en, -en", "student", Kind.PEOPLE | Kind.HUMAN),
    noun("das Kind, -es, -er", "child", Kind.PEOPLE | Kind.HUMAN),
    noun("der Patient, -en, -en", "patient", Kind.PEOPLE | Kind.HUMAN),
    noun("die Familie, =, -n", "family", Kind.PEOPLE),
    noun("das Unternehmen, -s, =", "company", Kind.PEOPLE | Kind.SIZED),
    noun("die Region, =, -en", "region", Kind.PEOPLE | Kind.SIZED),
    noun("der Flüchtling, -s, -e", "refugee", Kind.PEOPLE | Kind.HUMAN),
)
_TEXTS = (
    noun("der Vorschlag, -s, Vorschläge", "proposal", Kind.PROPOSAL),
    noun("der Antrag, -s, Anträge", "motion", Kind.PROPOSAL),
    noun("der Änderungsantrag, -s, Änderungsanträge", "amendment", Kind.PROPOSAL),
    noun("der Entwurf, -s, Entwürfe", "draft", Kind.PROPOSAL),
    noun("die Empfehlung, =, -en", "recommendation", Kind.PROPOSAL),
    noun("der Kompromiss, -es, -e", "compromise", Kind.PROPOSAL),
    noun("der Bericht, -s, -e", "report", Kind.REPORT),
    noun("die Stellungnahme, =, -n", "opinion", Kind.REPORT),
    noun("die Mitteilung, =, -en", "communication", Kind.REPORT),
    noun("die Studie, =, -n", "study", Kind.REPORT),
    noun("die Entschließung, =, -en", "resolution", Kind.REPORT),
    noun("die Erklärung, =, -en", "statement", Kind.REPORT),
    noun("die Richtlinie, =, -n", "directive", Kind.LAW),
    noun("die Verordnung, =, -en", "regulation", Kind.LAW),
    noun("das Gesetz, -es, -e", "law", Kind.LAW),
    noun("der Beschluss, -es, Beschlüsse", "decision", Kind.LAW),
    noun("das Abkommen, -s, =", "agreement", Kind.TREATY),
    noun("der Vertrag, -s, Verträge", "treaty", Kind.TREATY),
    noun("das Protokoll, -s, -e", "protocol", Kind.TREATY),
    noun("das Übereinkommen, -s, =", "convention", Kind.TREATY),
)
_PLANS = (
    noun("der Haushalt, -s, -e", "budget", Kind.PLAN | Kind.SIZED),
    noun("der Plan, -s, Pläne", "plan", Kind.PLAN),
    noun("das Programm, -s, -e", "programme", Kind.PLAN | Kind.SIZED),
    noun("das Projekt, -s, -e", "project", Kind.PLAN | Kind.SIZED),
    noun("die Strategie, =, -n", "strategy", Kind.PLAN),
    noun("die Reform, =, -en", "reform", Kind.PLAN),
    noun("die Maßnahme, =, -n", "measure", Kind.PLAN),
)
_POLICIES = (
    noun("die Politik, =", "policy", Kind.POLICY, bare=True),
    noun("die Agrarpolitik, =", "agricultural policy", Kind.POLICY, bare=True),
    noun("die Sozialpolitik, =", "social policy", Kind.POLICY, bare=True),
    noun("die Außenpolitik, =", "foreign policy", Kind.POLICY, bare=True),
    noun("die Industriepolitik, =", "industrial policy", Kind.POLICY, bare=True),
    noun("der Binnenmarkt, -es", "internal market", Kind.POLICY),
    noun("das System, -s, -e", "system", Kind.POLICY),
    noun("das Verfahren, -s, =", "procedure", Kind.POLICY),
)
_PROBLEMS = (
    noun("die Arbeitslosigkeit, =", "unemployment", Kind.ILL, bare=True),
    noun("die Armut, =", "poverty", Kind.ILL, bare=True),
    noun("der Betrug, -s", "fraud", Kind.ILL, bare=True),
    noun("die Gewalt, =", "violence", Kind.ILL, bare=True),
    noun("der Terrorismus, =", "terrorism", Kind.ILL, bare=True),
    noun("die Krise, =, -n", "crisis", Kind.ISSUE),
    noun("die Wirtschaftskrise, =, -n", "economic crisis", Kind.ISSUE),
    noun("die Finanzkrise, =, -n", "financial crisis", Kind.ISSUE),
    noun("das Problem, -s, -e", "problem", Kind.ISSUE),
    noun("der Mangel, -s, Mängel", "shortcoming", Kind.ISSUE),
    noun("die Gefahr, =, -en", "danger", Kind.ISSUE),
    noun("das Hindernis, -ses, -se", "obstacle", Kind.ISSUE),
)
_VALUES = (
    noun("die Sicherheit, =", "security", Kind.VALUE, bare=True),
    noun("die Transparenz, =", "transparency", Kind.VALUE, bare=True),
    noun("das Wachstum, -s", "growth", Kind.VALUE, bare=True),
    noun("die Zusammenarbeit, =", "cooperation", Kind.VALUE, bare=True),
    noun("die Beschäftigung, =", "employment", Kind.VALUE, bare=True),
    noun("der Frieden, -s", "peace", Kind.VALUE, bare=True),
    noun("die Demokratie, =", "democracy", Kind.VALUE, bare=True),
    noun("der Umweltschutz, -es", "environmental protection", Kind.VALUE, bare=True),
    noun("die Freiheit, =", "freedom", Kind.VALUE, bare=True),
    noun("der Wettbewerb, -s", "competition", Kind.VALUE, bare=True),
)
_MEETINGS = (
    noun("die Sitzung, =, -en", "sitting", Kind.MEETING),
    noun("die Aussprache, =, -n", "debate", Kind.MEETING),
    noun("die Abstimmung, =, -en", "vote", Kind.MEETING),
    noun("die Konferenz, =, -en", "conference", Kind.MEETING),
    noun("die Anhörung, =, -en", "hearing", Kind.MEETING),
    noun("die Verhandlung, =, -en", "negotiation", Kind.MEETING),
    noun("das Treffen, -s, =", "meeting", Kind.MEETING),
)
_QUANTITIES = (
    noun("die Nachfrage, =", "demand", Kind.QUANTITY, bare=True),
    noun("die Produktion, =", "production", Kind.QUANTITY, bare=True),
    noun("der Verbrauch, -s", "consumption", Kind.QUANTITY, bare=True),
    noun("der Umsatz, -es", "turnover", Kind.QUANTITY, bare=True),
    noun("der Preis, -es, -e", "price", Kind.QUANTITY, bare=True),
    noun("der Lohn, -es, Löhne", "wage", Kind.QUANTITY, bare=True),
    noun("die Ausfuhr, =, -en", "export", Kind.QUANTITY, bare=True),
    noun("die Miete, =, -n", "rent", Kind.QUANTITY, bare=True),
)
SIMPLE_NOUNS = (
    *_BODIES,
    *_PERSONS,
    *_PEOPLE,
    *_TEXTS,
    *_PLANS,
    *_POLICIES,
    *_PROBLEMS,
    *_VALUES,
    *_MEETINGS,
    *_QUANTITIES,
)
_BY_LEMMA = {entry.german.lemma: entry for entry in SIMPLE_NOUNS}

_MODIFIERS = {
    modifier.german: modifier
    for modifier in paired(
        "Haushalts/budget Fischerei/fisheries Umwelt/environment Verkehrs/transport Handels/trade "
        "Energie/energy Landwirtschafts/agriculture Forschungs/research Steuer/tax Klima/climate "
        "Gesundheits/health Sicherheits/security Bildungs/education Beschäftigungs/employment "
        "Industrie/industry Kultur/culture Asyl/asylum Jugend/youth "
        "Entwicklungs/development Finanz/finance Menschenrechts/human_rights"
    )
}
_COMPOUNDS = {
    "Ausschuss": "Haushalts Fischerei Umwelt Verkehrs Handels Energie Landwirtschafts Forschungs "
    "Sicherheits Bildungs Beschäftigungs Industrie Kultur Jugend Entwicklungs Finanz "
    "Menschenrechts",
    "Behörde": "Fischerei Umwelt Verkehrs Handels Energie Steuer Gesundheits Sicherheits Asyl",
    "Minister": "Umwelt Verkehrs Handels Energie Landwirtschafts Forschungs Gesundheits Bildungs "
    "Industrie Kultur Finanz Fischerei Jugend",
    "Ministerin": "Umwelt Verkehrs Handels Energie Landwirtschafts Forschungs Gesundheits "
    "Bildungs Industrie Kultur Finanz Fischerei Jugend",
    "Experte": "Haushalts Fischerei Umwelt Verkehrs Handels Energie Steuer Klima Gesundheits "
    "Sicherheits Bildungs Menschenrechts",
    "Bericht": "Haushalts Umwelt Verkehrs Energie Forschungs Klima Gesundheits Sicherheits "
    "Bildungs Beschäftigungs Entwicklungs Menschenrechts",
    "Richtlinie": "Umwelt Verkehrs Energie Steuer Asyl Klima Gesundheits Sicherheits",
    "Gesetz": "Haushalts Umwelt Verkehrs Energie Steuer Asyl Klima Handels",
    "Abkommen": "Fischerei Verkehrs Handels Energie Steuer Klima Forschungs",
    "Plan": "Haushalts Verkehrs Energie Forschungs Klima Sicherheits Entwicklungs",
    "Programm": "Umwelt Energie Forschungs Klima Gesundheits Bildungs Beschäftigungs Jugend "
    "Entwicklungs",
    "Projekt": "Umwelt Verkehrs Energie Forschungs Klima Bildungs Jugend Entwicklungs",
    "Strategie": "Umwelt Energie Forschungs Klima Gesundheits Sicherheits Beschäftigungs "
    "Entwicklungs",
    "Reform": "Haushalts Steuer Gesundheits Bildungs Asyl",
    "Politik": "Haushalts Fischerei Umwelt Verkehrs Handels Energie Forschungs Steuer Klima "
    "Gesundheits Sicherheits Bildungs Beschäftigungs Asyl Jugend Entwicklungs",
    "System": "Verkehrs Energie Steuer Gesundheits Bildungs Asyl",
    "Krise": "Haushalts Energie Klima Asyl Gesundheits",
    "Konferenz": "Fischerei Umwelt Verkehrs Handels Energie Klima Bildungs Sicherheits "
    "Entwicklungs Menschenrechts",
}
COMPOUND_NOUNS = tuple(
    compound(_MODIFIERS[modifier], _BY_LEMMA[head])
    for head, modifiers in _COMPOUNDS.items()
    for modifier in listed(modifiers)
)
TOPIC_NOUNS = frozenset(
    listed(
        "Bericht Stellungnahme Mitteilung Studie Entschließung Erklärung Richtlinie Verordnung "
        "Gesetz Abkommen Übereinkommen Aussprache Konferenz Anhörung"
    )
)
"""Nouns that can have a topic: der Bericht über die Fischereipolitik."""

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
