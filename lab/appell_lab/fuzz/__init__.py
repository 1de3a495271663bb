"""The campaign that keeps looking: hunts that try to break appell, each with a judge that can disagree."""
