//! Lists as OpenTelemetry's variables write them: `key=value`, commas between, values
//! percent-encoded (W3C Baggage).

/// The pairs of a list, or its problem without its values.
pub(super) fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let mut place = 0;
    parts
        .map(|part| {
            place += 1;
            let pair = part.split_once('=').filter(|(key, _)| !key.trim().is_empty());
            let (key, value) =
                pair.ok_or_else(|| format!("has no key=value at position {place}"))?;
            let value = decoded(value.trim());
            let value = value.ok_or_else(|| format!("is wrongly encoded at position {place}"))?;
            Ok((key.trim().to_owned(), value))
        })
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first == b'%' {
            let (digits, tail) = tail.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_the_specification_says() {
        let read = |text| {
            let pairs = pairs(text)?;
            Ok::<_, String>(pairs.iter().map(|(k, v)| format!("{k}:{v}")).collect::<Vec<_>>())
        };
        assert_eq!(
            read("a=1, b = x%20y%2C,,c=d=e"),
            Ok(vec!["a:1".into(), "b:x y,".into(), "c:d=e".into()])
        );
        assert_eq!(read("a=1,b"), Err("has no key=value at position 2".into()));
        assert_eq!(read("=1"), Err("has no key=value at position 1".into()));
        assert_eq!(read("a=%2"), Err("is wrongly encoded at position 1".into()));
        assert_eq!(read("a=%ff"), Err("is wrongly encoded at position 1".into()));
    }
}
