//! Tests of the gateway of tools, through HTTP.

mod calls;
mod faults;
mod governed;
mod http_tools;
mod protocol;
mod recording;
mod servers;
