try:
    raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
except* ValueError as g:
    print("v", g.exceptions)
except* TypeError as g:
    print("t", g.exceptions)
