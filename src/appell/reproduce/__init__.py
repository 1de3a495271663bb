"""The papers' results, computed anew beside what is printed; one section a file, run by `appell reproduce`."""

SECTIONS = {
    "dynamics": "appell.reproduce.dynamics",
    "puma": "appell.reproduce.puma",
    "counts": "appell.reproduce.counts",
    "stability": "appell.reproduce.stability",
    "impacts": "appell.reproduce.impacts",
    "agile-wrist": "appell.reproduce.agile_wrist",
    "identification": "appell.reproduce.identification",
    "control": "appell.reproduce.control",
}
