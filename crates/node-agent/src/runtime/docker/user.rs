//! Who an image runs as. A name means what the image's own account files say, and an image may call anything root: so a
//! name is looked up, and what comes out as root becomes nobody.

use gpuaas_agent_protocol::spec::NOBODY;

use crate::runtime::User;

/// What has to be read from the image before the user is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    Known(User),
    Look { user: String, group: Option<String> },
}

pub(super) fn parse(text: &str) -> Named {
    let (user, group) = match text.split_once(':') {
        Some((user, group)) => (user, Some(group).filter(|group| !group.is_empty())),
        None => (text, None),
    };
    let number = |text: &str| text.parse::<u32>().ok();
    match (user, number(user), group.map(number)) {
        ("" | "root", _, _) | (_, Some(0), _) => Named::Known(User::numeric(NOBODY)),
        (_, Some(uid), None) => Named::Known(User { text: uid.to_string(), uid, gid: uid }),
        (_, Some(uid), Some(Some(gid))) => Named::Known(User::numeric((uid, gid))),
        _ => Named::Look { user: user.to_owned(), group: group.map(str::to_owned) },
    }
}

/// By the lines of `/etc/passwd` and `/etc/group`; nobody where they do not say.
pub(super) fn resolve(user: &str, group: Option<&str>, passwd: &str, groups: &str) -> User {
    let account = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let uid: u32 = fields.nth(1)?.parse().ok()?;
        let gid: u32 = fields.next()?.parse().ok()?;
        (name == user || user.parse() == Ok(uid)).then_some((uid, gid))
    });
    let account = account.or_else(|| user.parse().ok().map(|uid: u32| (uid, uid)));
    let group = group.map(|group| {
        group.parse().ok().or_else(|| {
            groups.lines().find_map(|line| {
                let mut fields = line.split(':');
                (fields.next()? == group).then(|| fields.nth(1)?.parse::<u32>().ok()).flatten()
            })
        })
    });
    match (account, group) {
        (None | Some((0, _)), _) | (_, Some(None)) => User::numeric(NOBODY),
        (Some((uid, _)), Some(Some(gid))) => User::numeric((uid, gid)),
        (Some(ids), None) => User::numeric(ids),
    }
}

/// The bytes of the first plain file in a tar archive: the engine hands single files out this way.
pub(super) fn first_file(tar: &[u8]) -> Option<String> {
    let header = tar.get(..512)?;
    if !matches!(header[156], b'0' | 0) {
        return None;
    }
    let digits = std::str::from_utf8(&header[124..136]).ok()?.trim_matches(['\0', ' ']).to_owned();
    let size = usize::from_str_radix(&digits, 8).ok()?;
    Some(String::from_utf8_lossy(tar.get(512..512_usize.checked_add(size)?)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str =
        "root:x:0:0::/root:/bin/sh\napp:x:1000:1001::/:/bin/sh\nsly:x:0:1000::/:/bin/sh\nbroken\n";
    const GROUPS: &str = "root:x:0:\nstaff:x:50:app\n";

    #[test]
    fn numbers_are_taken_and_root_by_any_name_is_nobody() {
        let nobody = User::numeric(NOBODY);
        for text in ["", "root", "0", "0:0", "root:root", "00", ":5"] {
            assert_eq!(parse(text), Named::Known(nobody.clone()), "{text}");
        }
        assert_eq!(parse("1000"), Named::Known(User { text: "1000".to_owned(), uid: 1000, gid: 1000 }));
        assert_eq!(parse("1000:7"), Named::Known(User::numeric((1000, 7))));
        assert_eq!(
            parse("app:staff"),
            Named::Look { user: "app".to_owned(), group: Some("staff".to_owned()) }
        );
        assert_eq!(resolve("app", None, PASSWD, GROUPS), User::numeric((1000, 1001)));
        assert_eq!(resolve("app", Some("staff"), PASSWD, GROUPS), User::numeric((1000, 50)));
        assert_eq!(resolve("1000", Some("staff"), PASSWD, GROUPS), User::numeric((1000, 50)));
        for (user, group) in [("sly", None), ("root", None), ("missing", None), ("app", Some("missing"))] {
            assert_eq!(resolve(user, group, PASSWD, GROUPS), nobody, "{user}");
        }
    }

    #[test]
    fn a_single_file_is_found_in_its_archive_and_nonsense_is_not() {
        let mut tar = vec![0_u8; 1024];
        tar[..6].copy_from_slice(b"passwd");
        tar[124..136].copy_from_slice(b"00000000005\0");
        tar[156] = b'0';
        tar[512..517].copy_from_slice(b"hello");
        assert_eq!(first_file(&tar).as_deref(), Some("hello"));
        tar[156] = b'2';
        assert_eq!(first_file(&tar), None, "a link is not followed");
        assert_eq!(first_file(&tar[..100]), None);
    }
}
