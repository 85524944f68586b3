# Touchstone as an image.
#
#   docker build -t touchstone .                      from source, in a container
#   docker build -t touchstone --target prebuilt .    from a binary that was built outside (BINARY says where it is)
#
# The base images are arguments. Workers that are to fetch `git_repo` fixtures need a RUNTIME_IMAGE with git, such as
# buildpack-deps:bookworm-scm.
ARG RUST_IMAGE=rust:1.95-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim

# What the images have in common: an unprivileged user, and a place for data that a volume takes over.
FROM ${RUNTIME_IMAGE} AS base
RUN mkdir -p /opt/touchstone /var/lib/touchstone \
 && chmod 0700 /var/lib/touchstone \
 && chown 1000:1000 /var/lib/touchstone
# A container that is started as root, to join the group of the Docker engine's socket, becomes TOUCHSTONE_RUN_AS.
ENV PATH=/opt/touchstone:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/var/lib/touchstone \
    TOUCHSTONE_DATA_DIR=/var/lib/touchstone \
    TOUCHSTONE_RUN_AS=1000:1000
USER 1000:1000
ENTRYPOINT ["touchstone"]
EXPOSE 8012

# From a binary that was built outside. The pattern lets builders that make every stage pass over this one.
FROM base AS prebuilt
ARG BINARY=target/release/touchstone
# The authorities that webhooks and model providers are checked by, unless RUNTIME_IMAGE has them.
ARG CERTIFICATES=ca-certificates.crt
COPY LICENSE ${BINARY}* ${CERTIFICATES}* /opt/touchstone/
USER 0:0
RUN cd /opt/touchstone; if [ -f ca-certificates.crt ]; then mkdir -p /etc/ssl/certs && mv ca-certificates.crt /etc/ssl/certs/; fi
USER 1000:1000

FROM ${RUST_IMAGE} AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --bin touchstone

# The default.
FROM base AS runtime
COPY LICENSE /opt/touchstone/
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /source/target/release/touchstone /opt/touchstone/
