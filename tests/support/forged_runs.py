"""Forges what run.json says beside the declarations of a run, with the right checksum."""

from hdpkit.files import from_json, opened_text, sealed_text, to_json


def forge_about(folder, change):
    """Let a function change "about" in run.json."""
    path = folder / "run.json"
    fields, _ = opened_text(path.read_bytes())
    content = from_json(fields["content"])
    change(content["about"])
    path.write_bytes(sealed_text({**fields, "content": to_json(content)}, indent=1))
