# expect: SyntaxError
x = f"{f'{f"{1}"}'}"
