"""Studies beyond the papers: one module a sweep, each with LETTER, NAME, TITLE, points(quick),
measure(point), conclude(rows)."""
