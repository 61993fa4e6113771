s = "Grüße, 世界 🎉"
print(s, len(s), s.upper(), s.encode(), s[::-1], "ß".casefold(), ascii(s))
