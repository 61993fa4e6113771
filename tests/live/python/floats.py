print(0.1 + 0.2, round(2.675, 2), float("inf"), 1e300 * 1e10, 7 / 2, divmod(7, 2), complex(1, 2) * 1j, (0.5).as_integer_ratio())
