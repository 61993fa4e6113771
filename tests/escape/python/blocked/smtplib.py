# expect: blocked | Blocked import detected: smtplib
import smtplib
print("ESCAPED")
