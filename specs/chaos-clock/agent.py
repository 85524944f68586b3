import email.utils, json, time, urllib.request

def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request("http://shop" + path, data), timeout=10)

date = email.utils.parsedate_to_datetime(call("/now").headers["Date"]).timestamp()
behind = round((date - time.time()) / 60)

# Differences of the clock on the wall say nothing about time that passed.
wall, steady = time.time(), time.monotonic()
call("/slow")
seconds = time.monotonic() - steady
jumped = abs((time.time() - wall) - seconds) > 60
call("/report", {"seconds": seconds, "jumped": jumped, "minutes_behind": behind})
