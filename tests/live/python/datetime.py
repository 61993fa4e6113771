# imports: data
import datetime, calendar, time
d = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
print(d.isoformat(), d.strftime("%a %d %b"), calendar.monthrange(2024, 2), d.timestamp(), time.gmtime(0).tm_year, datetime.date.fromisoformat("2024-01-02").weekday())
