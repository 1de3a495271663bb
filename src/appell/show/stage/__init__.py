"""Systems and records on stage: what is seen of them as a `display.Scene`, in pages, films and live views."""
