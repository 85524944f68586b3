import errno, json, os, time, urllib.request

def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request("http://shop" + path, data), timeout=10).read()

def outcome(action):
    try:
        return action()
    except OSError as error:
        return errno.errorcode[error.errno]

def until(wanted, action):
    """Tries until that comes of it, for ten seconds at most."""
    end = time.monotonic() + 10
    while (last := outcome(action)) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    return last

def append(path, text):
    with open(path, "a") as file:
        file.write(text)
    return "written"

report = {"private": outcome(lambda: open("private.txt").read())}
order = json.loads(call("/orders"))

# Read it again right before writing: what was read earlier may have changed.
settings = json.load(open("settings.json"))
settings["done"] = True
json.dump(settings, open("settings.json", "w"))

report["late"] = until("EACCES", lambda: open("late.txt", "a").close())
call("/step", {})
report["archive"] = outcome(lambda: append("archive/2025.txt", "more\n"))
report["archive_read"] = open("archive/2025.txt").read().strip()

os.makedirs("orders", exist_ok=True)
call("/step", {})
line = json.dumps(order).ljust(1 << 20)
report["full"] = outcome(lambda: append("orders/1001.json", line))
# Whole or not at all, as soon as there is room.
def write():
    with open("orders/1001.part", "w") as file:
        file.write(line)
    os.replace("orders/1001.part", "orders/1001.json")
    return "written"
report["order"] = until("written", write)
call("/report", report)
