# Says who and where it is, what it was given, and what it may not change.
{
    echo "$(id -un) in $(pwd)"
    echo "read $(wc -c) bytes"
    echo "greeted with $GREETING"
    if touch /var/tmp/mine 2>/dev/null; then echo "/var/tmp is writable"; else echo "/var/tmp is read-only"; fi
} > /workspace/report.txt
