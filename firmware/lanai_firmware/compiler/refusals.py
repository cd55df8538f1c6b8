"""Python that the language leaves out: what it is called, and what firmware uses in its place."""

import ast

EXPRESSIONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Dict: ("a dict is", "an Array indexed by a number, or a list of structs linked by Ptr"),
    ast.List: ("a list is", "Global[Array[T, n]] or local(Array[T, n])"),
    ast.Set: ("a set is", "the bits of a u32"),
    ast.Tuple: ("a tuple is", "a Struct, or one statement for each"),
    ast.ListComp: ("a comprehension is", "a for loop over range()"),
    ast.DictComp: ("a comprehension is", "a for loop over range()"),
    ast.SetComp: ("a comprehension is", "a for loop over range()"),
    ast.GeneratorExp: ("a generator is", "a for loop over range()"),
    ast.Lambda: ("lambda is", "def with @firmware"),
    ast.JoinedStr: ("a string is", "numbers; text is for trap() and assert only"),
    ast.Await: ("await is", "a loop over the WAIT register"),
    ast.Yield: ("yield is", "a loop"),
    ast.NamedExpr: ("`:=` is", "a statement of its own"),
    ast.Slice: ("a slice is", "copy(target, source, size)"),
    ast.Starred: ("`*` is", "the arguments one by one"),
}

STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("try is", "a result that reports the failure, or trap()"),
    ast.Raise: ("raise is", "a result that reports the failure, or trap()"),
    ast.With: ("with is", "calls before and after"),
    ast.Global: ("global is", "a struct: `state: Global[State]`, then state.member"),
    ast.Nonlocal: ("nonlocal is", "a struct: `state: Global[State]`, then state.member"),
    ast.FunctionDef: ("a function in a function is", "a @firmware function of the module"),
    ast.ClassDef: ("a class in a function is", "a Struct of the module"),
    ast.Import: ("an import in a function is", "an import at the top of the module"),
    ast.ImportFrom: ("an import in a function is", "an import at the top of the module"),
    ast.Delete: ("del is", "null(T) or zero"),
    ast.Match: ("match is", "if and elif"),
    ast.AsyncFor: ("async is", "a loop over the WAIT register"),
    ast.AsyncWith: ("async is", "a loop over the WAIT register"),
}
