"""The nouns of the demo language, simple and compound."""

from stages.demo.wording import listed, paired
from stages.demo.words import Kind, compound, noun

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
