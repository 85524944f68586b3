//! The files of a box that say who is where.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Host name of a sandbox.
pub(crate) const HOSTNAME: &str = "sandbox";
/// The files of `/etc` that say who is where. They are ours and read-only: the engine's own are on the host's disk outside
/// of every limit, an agent that is root could fill it, and no list of changes would show what it wrote there.
pub(crate) const NAME_FILES: [&str; 3] = ["hosts", "hostname", "resolv.conf"];

/// Writes the files that say who is where into the folder that the door is in, from where they are mounted.
pub(crate) fn write_name_files(folder: &Path, name_server: Option<Ipv4Addr>) -> io::Result<()> {
    let resolver = match name_server {
        Some(address) => format!("nameserver {address}\noptions timeout:3 attempts:2\n"),
        None => "# There is no name server.\n".to_owned(),
    };
    let contents = [hosts_file(&[]), format!("{HOSTNAME}\n"), resolver];
    for (name, content) in NAME_FILES.iter().zip(contents) {
        let path = folder.join(name);
        fs::write(&path, content)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// Writes names into `/etc/hosts` of a box that is there. The file is changed in its place, which is mounted.
pub(crate) fn write_hosts(folder: &Path, hosts: &[(String, Ipv4Addr)]) -> io::Result<()> {
    fs::write(folder.join(NAME_FILES[0]), hosts_file(hosts))
}

/// Returns the content of `/etc/hosts`: the box itself, and these.
fn hosts_file(hosts: &[(String, Ipv4Addr)]) -> String {
    let lines = hosts.iter().map(|(name, address)| format!("{address}\t{name}\n"));
    format!("127.0.0.1\tlocalhost {HOSTNAME}\n::1\tlocalhost\n") + &lines.collect::<String>()
}
