"""How bytes come in and go out: every file that softhat reads or writes passes here.

`names` tells what is there. `reading` opens regular files only, of a bounded size, as UTF-8
whatever the locale says, JSON without duplicate fields, tensors after their header was checked.
`writing` puts files and folders in place whole or not at all, and replaces nothing that softhat did
not write (`replacing`) and no input (`softhat.io.protection`). `snapshot` reads a folder as it was
at one moment. What the bytes mean is for the callers to say.
"""

from softhat.io.files.names import as_path, exists, is_file, is_folder
from softhat.io.files.reading import (
    opened,
    parse_json,
    read_bytes,
    read_json,
    read_metadata,
    read_stream,
    read_tensors,
    read_text,
)
from softhat.io.files.snapshot import read_as_a_whole, unchanged
from softhat.io.files.writing import (
    check_folder_writable,
    check_writable,
    is_temporary,
    json_bytes,
    json_files,
    locked,
    make_folder,
    resolved,
    write_file,
    write_files,
    write_folder,
)
from softhat.io.protection import RECORD, check_derived, check_output, watch_inputs

__all__ = [
    "RECORD",
    "as_path",
    "check_derived",
    "check_folder_writable",
    "check_output",
    "check_writable",
    "exists",
    "is_file",
    "is_folder",
    "is_temporary",
    "json_bytes",
    "json_files",
    "locked",
    "make_folder",
    "opened",
    "parse_json",
    "read_as_a_whole",
    "read_bytes",
    "read_json",
    "read_metadata",
    "read_stream",
    "read_tensors",
    "read_text",
    "resolved",
    "unchanged",
    "watch_inputs",
    "write_file",
    "write_files",
    "write_folder",
]
