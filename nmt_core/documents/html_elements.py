"""Elements of HTML: those that stand in sentences, stay as they are, or have text in attributes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from unicodedata import category

from nmt_core.documents.declarations import LanguageMarks
from nmt_core.documents.pieces import Piece

COMMENT = "!--"


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label map mark math "
    "nobr object output picture q s samp small span strike strong sub sup svg time tt u var wbr !--"
)
"""Elements that may occur within a sentence, and comments; all others end one."""

VOID = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements that hold nothing and have no end tag."""

KEPT = _names(
    "audio canvas code docauthor iframe kbd math noembed noframes object plaintext pre samp script "
    "style svg template textarea var video xmp"
)
"""Elements that are not translated: programs with their input and output, formulas, pictures, and
of a book's table of contents the author."""

BLOCK = _names(
    "address article aside blockquote body button caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup "
    "html legend li main menu nav noscript ol optgroup option p rp rt ruby search section select "
    "summary table tbody td tfoot th thead title tr ul"
)
ELEMENTS = BLOCK | INLINE | VOID | KEPT
"""Those of HTML; in a message, others stand for components of a program: ``<terms>it</terms>``."""

READ = _names(
    "alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext "
    "placeholder title"
)
"""Attributes that people read."""

LABELLED = _names("optgroup option track")
BUTTONS = _names("button reset submit")
DESCRIPTIONS = _names("description og:description og:title twitter:description twitter:title")
"""Elements with a label, types of input whose value is on a button, and names of what a page says
of itself, which search engines show."""

LANGUAGE = frozenset({"lang", "xml:lang"})
"""Attributes that say in which language an element is."""

CHANGED = READ | LANGUAGE | {"content", "label", "value"}
"""Attributes that may not stay as they are."""

PAGE = ("html", "body")
"""Elements with the language of the page; the language of the request overrides it."""

SYMBOLS = ("Co", "Sk", "Sm", "So")
"""Categories of Unicode, without currencies; fonts have icons for private use."""


@dataclass
class Tag(Piece):
    """A piece of HTML."""

    attributes: Sequence[tuple[str, str | None]] = ()
    is_component: bool = False
    """Whether it is of a component of a program, and not of an element of HTML."""

    @property
    def is_inline(self) -> bool:
        """Tell whether it may stand within a sentence."""
        return self.is_text or self.is_component or self.name in INLINE

    def find_read_names(self) -> Collection[str]:
        """Return the names of attributes of such an element that people read."""
        given = {name: (value or "").lower() for name, value in self.attributes}
        names = set(READ)
        if self.name in LABELLED:
            names.add("label")
        if self.name == "input" and given.get("type") in BUTTONS:
            names.add("value")
        if self.name == "meta" and not DESCRIPTIONS.isdisjoint(
            [given.get("name"), given.get("property")]
        ):
            names.add("content")
        return names

    @property
    def is_marked(self) -> bool:
        """Tell whether its attributes say that it is not to be translated."""
        given = dict(self.attributes)
        is_kept = (given.get("translate") or "").lower() == "no"
        return is_kept or "notranslate" in (given.get("class") or "").split()

    def is_in_other_language(self, marks: LanguageMarks) -> bool:
        """Tell whether its attributes name another language than the source's."""
        return self.name not in PAGE and any(
            marks.is_other(value) for name, value in self.attributes if name in LANGUAGE and value
        )


def is_symbol(text: str) -> bool:
    """Tell whether a text is a sign such as an arrow, a tick or an icon, and not punctuation."""
    return not any(map(str.isalnum, text)) and any(category(sign) in SYMBOLS for sign in text)
