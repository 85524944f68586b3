#!/bin/sh
# Starts a database server with a clock of its own. It stands before the server in PATH, under the server's name.
export FAKETIME="$TOUCHSTONE_FAKETIME" FAKETIME_DONT_FAKE_MONOTONIC=1
# The linker puts its own folder in the place of $LIB.
export LD_PRELOAD='/usr/$LIB/faketime/libfaketime.so.1'
PATH=${PATH#"${0%/*}":}
exec "${0##*/}" "$@"
