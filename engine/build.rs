//! Builds the doorkeeper as a static program and tells the crate where it is, so that one binary is all there is to
//! install.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Settings of the outer build that must not reach the inner one.
const OUTER: [&str; 6] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "CLIPPY_ARGS",
];

fn main() {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets the folder"));
    let doorkeeper = crate_folder.join("../doorkeeper");
    for watched in ["src", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={}", doorkeeper.join(watched).display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    let binary = build(&doorkeeper);
    println!("cargo:rustc-env=DOORKEEPER_BINARY={}", binary.display());
}

/// Runs cargo with a target folder of its own: the outer build holds the lock of its own. A static program needs the
/// target to be named, or the flag would reach build scripts too.
fn build(doorkeeper: &Path) -> PathBuf {
    let target = env::var("TARGET").expect("cargo sets the target");
    let target_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets the folder")).join("doorkeeper");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo names itself"));
    for setting in OUTER {
        cargo.env_remove(setting);
    }
    let status = cargo
        .args([
            "build",
            "--locked",
            "--quiet",
            "--release",
            "--bin",
            "doorkeeper",
            "--target",
            &target,
            "--manifest-path",
        ])
        .arg(doorkeeper.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir)
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_LTO", "thin")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the doorkeeper was not built");
    target_dir.join(target).join("release/doorkeeper")
}
