"""The papers' results, computed anew beside what is printed; one section a file, run by `appell reproduce`."""

SECTIONS = {
    "dynamics": "appell.lab.papers.dynamics",
    "puma": "appell.lab.papers.puma",
    "counts": "appell.lab.papers.counts",
    "stability": "appell.lab.papers.stability",
    "impacts": "appell.lab.papers.impacts",
    "agile-wrist": "appell.lab.papers.agile_wrist",
    "identification": "appell.lab.papers.identification",
    "control": "appell.lab.papers.control",
}
