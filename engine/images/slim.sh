# Runs on the host, with the image's root as its first argument, once the essential packages are unpacked: what nobody
# reads in a test is not installed. (mmdebstrap's own option for that filters every package with a slow program.)
printf 'path-exclude=%s\n' '/usr/share/man/*' '/usr/share/info/*' '/usr/share/doc/*' '/usr/share/locale/*' \
    '/usr/share/lintian/*' > "$1/etc/dpkg/dpkg.cfg.d/touchstone"
cd "$1/usr/share" && rm -rf man/* info/* doc/* locale/* lintian
