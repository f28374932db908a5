"""Reads npz files of run folders of any format, and forges them with right checksums."""

import hashlib
import json
import zipfile

from hdpkit.files import npz_of, read_npz


def tree_of(path):
    """The format of a file, and its content."""
    with zipfile.ZipFile(path) as archive:
        format = json.loads(archive.read("tree.json"))["format"]
    return format, read_npz(path, format)


def write_tree(path, format, tree, **options):
    """Write any content."""
    path.write_bytes(npz_of(format, tree, **options))


def forge(path, change):
    """Let a function change the content of a file."""
    format, tree = tree_of(path)
    change(tree)
    write_tree(path, format, tree)


def write_members(path, members, compress=False, resize=None):
    """Write a zip file of these members with a right checksum; ``resize`` says other sizes of members."""
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.comment = b"0" * 64
        for name, content in members:
            archive.writestr(name, content)
            if name in (resize or {}):
                archive.getinfo(name).file_size = resize[name]
    reseal(path)


def reseal(path):
    """Make the checksum of a file right."""
    body = path.read_bytes()[:-64]
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
