import gzip
import io
import re
import tarfile

import pytest

from nmt_core.base.errors import DownloadError
from nmt_core.corpora.fetch.archive import extract

NAMES = ["europarl-v7.de-en.de", "europarl-v7.de-en.en"]


def member(name, content=b"Guten Tag.\n", **changes):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in changes.items():
        setattr(info, key, value)
    return info, content


def link(name, to, kind=tarfile.SYMTYPE):
    return member(name, b"", type=kind, linkname=to)


@pytest.fixture
def pack(tmp_path):
    def pack(*members):
        path = tmp_path / "de-en.tgz"
        with tarfile.open(path, "w:gz") as tar:
            for info, content in members:
                tar.addfile(info, io.BytesIO(content))
        return path

    return pack


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "out" / "deep"
    path.mkdir(parents=True)
    return path


def refusal(archive, folder, **limits):
    with pytest.raises(DownloadError) as caught:
        extract(archive, NAMES, folder, **limits)
    told = str(caught.value).removeprefix(f"{archive} ")
    assert "not unpacked" not in told  # what stands before the fault lies in the folder
    return told


def test_wanted_files_come_out(pack, folder):
    archive = pack(member(NAMES[0], b"ja\n"), member("README"), member(f"./{NAMES[1]}", b"yes\n"))

    found = extract(archive, NAMES, folder)
    assert [found[name].read_bytes() for name in NAMES] == [b"ja\n", b"yes\n"]
    assert sorted(NAMES) == sorted(path.name for path in folder.iterdir())


def test_modes_and_owners_stay_in_the_archive(pack, folder):
    found = extract(pack(*(member(name, mode=0o6777, uid=0) for name in NAMES)), NAMES, folder)

    assert found[NAMES[0]].stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize(
    ("hostile", "expected"),
    [
        (member("../evil"), "holds '../evil', which leads out"),
        (member("a/../../evil"), "holds 'a/../../evil', which leads out"),
        (member("/etc/evil"), "holds '/etc/evil', which leads out"),
        (link(NAMES[0], "/etc/passwd"), f"holds '{NAMES[0]}', which is no ordinary file"),
        (link("x", "..", tarfile.LNKTYPE), "holds 'x', which is no ordinary file"),
        (link("x", "a" * 5000), "holds 'x', which is no ordinary file"),
        (member("null", b"", type=tarfile.CHRTYPE), "holds 'null', which is no ordinary file"),
        (member("pipe", b"", type=tarfile.FIFOTYPE), "holds 'pipe', which is no ordinary file"),
    ],
)
def test_a_hostile_member_stops_everything(pack, folder, tmp_path, hostile, expected):
    archive = pack(hostile, *(member(name) for name in NAMES))

    assert refusal(archive, folder).startswith(expected)
    assert not list(folder.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["de-en.tgz", "out"]


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ([member(NAMES[1]), member(NAMES[0], b"other\n")], f"holds {NAMES[0]} twice"),
        ([member(NAMES[1].upper())], f"does not hold {NAMES[1]}"),
        ([member(NAMES[1], b"", type=tarfile.DIRTYPE)], f"does not hold {NAMES[1]}"),
    ],
    ids=["doubled", "of other case", "a folder"],
)
def test_members_are_the_wanted_ones_once_each(pack, folder, last, told):
    assert refusal(pack(member(NAMES[0]), *last), folder).startswith(told)


@pytest.mark.parametrize(
    ("members", "limits", "told"),
    [
        ([member("0", bytes(5000)), *map(member, NAMES)], {"max_bytes": 4000}, "1000 .* 4000"),
        ([member(name, b"x" * 3000) for name in NAMES], {"max_bytes": 5000}, "1000 .* 5000"),
        ([member(f"{n}", b"") for n in range(20)], {"max_members": 10}, "10 members or 4294967296"),
    ],
    ids=["one", "together", "many"],
)
def test_a_large_archive_is_refused_before_it_is_unpacked(pack, folder, members, limits, told):
    assert re.match(f"unpacks to more than {told}", refusal(pack(*members), folder, **limits))


def test_a_bomb_in_a_header_is_refused(folder, tmp_path):
    """tarfile would read a header of any size into memory."""
    archive = tmp_path / "bomb.tgz"
    header = tarfile.TarInfo("././@PaxHeader")
    header.type = tarfile.XHDTYPE
    header.size = 1 << 32
    with gzip.open(archive, "wb", compresslevel=1) as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(64):
            file.write(bytes(1 << 20))

    assert refusal(archive, folder) == "unpacks to more than it says; nothing of it is used"


def test_a_bomb_after_the_end_is_refused(pack, folder):
    archive = pack(*(member(name) for name in NAMES))
    with archive.open("ab") as file:
        file.write(gzip.compress(bytes(1 << 24)))

    assert refusal(archive, folder) == "unpacks to more than it says; nothing of it is used"


def test_a_truncated_archive_is_refused(pack, folder):
    archive = pack(*(member(name, name.encode() * 5000) for name in NAMES))
    archive.write_bytes(archive.read_bytes()[:-30])

    assert refusal(archive, folder).startswith("is damaged or no .tgz archive (")


def test_a_flipped_byte_is_noticed(pack, folder):
    archive = pack(*(member(name, bytes(range(256)) * 50) for name in NAMES))
    content = bytearray(archive.read_bytes())
    content[-6] ^= 1  # the checksum of gzip
    archive.write_bytes(content)

    assert refusal(archive, folder).startswith("is damaged or no .tgz archive (CRC check failed")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<html>Not here</html>", "Not a gzipped file"),
        (gzip.compress(b"Guten Tag.\n" * 100, mtime=0), "invalid header"),
    ],
)
def test_what_is_no_archive_is_told(tmp_path, folder, content, told):
    archive = tmp_path / "page.tgz"
    archive.write_bytes(content)

    assert refusal(archive, folder).startswith(f"is damaged or no .tgz archive ({told}")


def raw(tmp_path, header):
    """An archive that begins with these bytes."""
    path = tmp_path / "de-en.tgz"
    path.write_bytes(gzip.compress(header + b"\0" * 1024))
    return path


def header(name, kind, size):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def padded(content):
    return content + b"\0" * (-len(content) % 512)


LONG_NUMBER = b"1" * 5000 + b" path=x\n"
SPARSE = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.name=abcdef\n"
NAME = header("././@LongLink", tarfile.GNUTYPE_LONGNAME, 2) + padded(b"a\0")
COMMENT = header("x", tarfile.XHDTYPE, 12) + padded(b"12 comment=\n")


@pytest.mark.parametrize(
    "headers",
    [
        header("x", tarfile.XHDTYPE, len(LONG_NUMBER)) + padded(LONG_NUMBER),
        header("x", tarfile.XHDTYPE, len(SPARSE))
        + padded(SPARSE)
        + header("a", b"0", 512)
        + b"x" * 512,
        NAME * 5000,
        COMMENT * 1500,
    ],
    ids=["length", "sparse", "names", "records"],
)
def test_headers_that_python_chokes_on_are_damage(tmp_path, folder, headers):
    assert "is damaged or no .tgz archive" in f" {refusal(raw(tmp_path, headers), folder)}"
