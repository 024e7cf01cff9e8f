//! Suggests the most similar of the valid names.

/// The name most similar to `found`, if one is similar enough to be a typing error and no other is
/// as similar.
#[must_use]
pub fn did_you_mean<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = found.chars().count();
    let slips = (1 + length / 4).min(length.saturating_sub(1));
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (strsim::osa_distance(&found.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= slips)
        .collect();
    near.sort();
    match near.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, name), ..] => Some(name),
        [] => None,
    }
}

/// A hint for a name that is none of `names`: the most similar one, else all of them.
#[must_use]
pub fn choices<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(near) = did_you_mean(found, names.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    match names.as_slice() {
        [] => "there is none".to_owned(),
        [only] => format!("the only one here is `{only}`"),
        many => {
            const SHOWN: usize = 20;
            let mut list: Vec<String> =
                many.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
            if many.len() > SHOWN {
                list.push(format!("{} more", many.len() - SHOWN));
            }
            format!("one of {}", list.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        let fields = ["session", "heartbeat", "beacon"];
        assert_eq!(did_you_mean("sesion", fields), Some("session"));
        assert_eq!(did_you_mean("Beacon", fields), Some("beacon"));
        assert_eq!(did_you_mean("colour", fields), None);
        assert_eq!(did_you_mean("c", ["a", "bc"]), None);
        assert_eq!(did_you_mean("p3", ["p1", "p2"]), None);
        assert_eq!(choices("colour", ["x"]), "the only one here is `x`");
        assert_eq!(choices("colour", fields), "one of `session`, `heartbeat`, `beacon`");
    }
}
