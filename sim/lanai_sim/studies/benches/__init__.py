"""Benches of `lanai dev bench`, one a module: NAME, HELP, add_arguments(parser), run(args) ->
figures."""
