# Runs on the host, with the image's root as its first argument, before the server is installed.
# The compiler of queries is the largest part of the package, and no query of a test lives long enough to need it.
printf 'path-exclude=%s\n' '/usr/lib/*/libLLVM*' '*/bitcode/*' '*/llvmjit*' >> "$1/etc/dpkg/dpkg.cfg.d/touchstone"
# The data directory is made by the setup, without Debian's cluster tools.
mkdir -p "$1/etc/postgresql-common"
echo 'create_main_cluster = false' > "$1/etc/postgresql-common/createcluster.conf"
