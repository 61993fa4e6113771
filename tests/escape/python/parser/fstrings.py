# expect: SyntaxError | SyntaxError: f-string
x = f"{f'{f"{1}"}'}"
