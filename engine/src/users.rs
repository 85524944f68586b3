//! Users of an image, by name or number.

use doorkeeper::protocol::DOORKEEPER_UID;

use crate::door::{Door, DoorError};
use crate::error::EngineError;

/// Length of a file with users that is read.
const MOST: u64 = 1024 * 1024;

/// A user of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    pub(crate) home: String,
}

/// Finds a user as Docker does: `name`, `uid`, `name:group` or `uid:gid`; root when nothing is given.
pub(crate) async fn find(door: &Door, user: &str) -> Result<User, EngineError> {
    let passwd = read(door, "etc/passwd").await?;
    let group = read(door, "etc/group").await?;
    let wrong = |reason: String| EngineError::WrongSpec { place: "agent.user".to_owned(), reason };
    let found = resolve(user, &passwd, &group)
        .ok_or_else(|| wrong(format!("the image has no user `{user}`; use a name of its /etc/passwd, or a number")))?;
    if found.uid == DOORKEEPER_UID {
        return Err(wrong(format!("the user {DOORKEEPER_UID} is kept for the sandbox itself; use another")));
    }
    Ok(found)
}

async fn read(door: &Door, path: &str) -> Result<String, EngineError> {
    match door.read("/", path.as_bytes(), MOST).await {
        Ok(content) => Ok(String::from_utf8_lossy(&content).into_owned()),
        // An image without users still has numbers.
        Err(DoorError::Failed(_)) => Ok(String::new()),
        Err(error) => Err(EngineError::door(format!("read /{path}"))(error)),
    }
}

fn resolve(user: &str, passwd: &str, group: &str) -> Option<User> {
    let (name, group_name) = user.split_once(':').map_or((user, None), |(name, group)| (name, Some(group)));
    let name = if name.is_empty() { "0" } else { name };
    let entry = passwd.lines().map(fields).find(|entry| entry.first() == Some(&name) || entry.get(2) == Some(&name));
    let number = |entry: &Vec<&str>, index: usize| entry.get(index).and_then(|field| field.parse().ok());
    let uid = entry.as_ref().and_then(|entry| number(entry, 2)).or_else(|| name.parse().ok())?;
    let gid = match group_name {
        Some(name) => {
            let found = group.lines().map(fields).find(|entry| entry.first() == Some(&name));
            found.and_then(|entry| number(&entry, 2)).or_else(|| name.parse().ok())?
        }
        None => entry.as_ref().and_then(|entry| number(entry, 3)).unwrap_or(0),
    };
    let login = entry.as_ref().and_then(|entry| entry.first().copied()).unwrap_or(name);
    let member =
        |entry: &Vec<&str>| entry.get(3).is_some_and(|members| members.split(',').any(|member| member == login));
    let groups = group.lines().map(fields).filter(member).filter_map(|entry| number(&entry, 2)).collect();
    let home = entry.as_ref().and_then(|entry| entry.get(5)).filter(|home| !home.is_empty());
    let home = home.map_or_else(|| "/".to_owned(), |home| (*home).to_owned());
    Some(User { uid, gid, groups: if group_name.is_some() { Vec::new() } else { groups }, home })
}

fn fields(line: &str) -> Vec<&str> {
    line.split(':').collect()
}

#[cfg(test)]
mod tests {
    use super::resolve;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1001::/home/agent:/bin/sh\n";
    const GROUP: &str = "root:x:0:\nagent:x:1001:\nwheel:x:10:agent,other\n";

    #[test]
    fn users_are_found_by_name_and_number() {
        let found = |user: &str| resolve(user, PASSWD, GROUP).map(|user| (user.uid, user.gid, user.groups, user.home));
        let agent = Some((1000, 1001, vec![10], "/home/agent".to_owned()));
        assert_eq!(found(""), Some((0, 0, vec![], "/root".to_owned())));
        assert_eq!(found("agent"), agent);
        assert_eq!(found("1000"), agent);
        assert_eq!(found("agent:wheel"), Some((1000, 10, vec![], "/home/agent".to_owned())));
        assert_eq!(found("4711:12"), Some((4711, 12, vec![], "/".to_owned())));
        assert_eq!(found("nobody"), None);
        assert_eq!(resolve("0", "", "").map(|user| user.home), Some("/".to_owned()));
    }
}
