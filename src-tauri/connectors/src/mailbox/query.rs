//! Search terms. The only way to make one, so that nothing unchecked gets into a command.

use std::fmt;

/// Terms joined by OR. Each is a substring match that ignores case; what is found must be compared exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query(Vec<String>);

impl Query {
    /// Messages that match any of the terms. None if there is no usable term.
    pub fn any(terms: impl IntoIterator<Item = Option<String>>) -> Option<Query> {
        let terms: Vec<String> = terms.into_iter().flatten().collect();
        (!terms.is_empty()).then_some(Query(terms))
    }
}

/// `HEADER name "value"`.
pub fn header(name: &str, value: &str) -> Option<String> {
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    quoted(value).filter(|_| is_name).map(|v| format!("HEADER {name} {v}"))
}

/// `FROM "address"`.
pub fn from(address: &str) -> Option<String> {
    quoted(address).map(|v| format!("FROM {v}"))
}

/// Arrived on this day or later, by the server's calendar. `seconds` since 1970, UTC.
pub fn since(seconds: i64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    // Days to civil date, with years that begin in March.
    let z = seconds.div_euclid(86_400) + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("SINCE {day}-{}-{year}", MONTHS[usize::try_from(month - 1).unwrap_or(0)])
}

/// A quoted string of printable ASCII. None for anything else: it would need a literal, and nothing of ours does.
pub fn quoted(text: &str) -> Option<String> {
    let fits = !text.is_empty() && text.len() <= 900 && text.bytes().all(|b| (b' '..=b'~').contains(&b));
    fits.then(|| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // OR takes exactly two keys, so n terms are a chain.
        let Some((last, rest)) = self.0.split_last() else { return f.write_str("ALL") };
        for term in rest {
            write!(f, "OR {term} ")?;
        }
        f.write_str(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_quoted_and_line_breaks_have_no_way_in() {
        assert_eq!(header("Message-ID", "<a\"b\\c@d>").unwrap(), "HEADER Message-ID \"<a\\\"b\\\\c@d>\"");
        for bad in ["", "a\r\nA1 DELETE Sent", "a\nb", "ü", "a\0b"] {
            assert_eq!(header("Message-ID", bad), None, "{bad:?}");
        }
        assert_eq!(header("X Y", "v"), None);
        let q = Query::any([header("A", "1"), None, header("B", "2"), from("c@d")]).unwrap();
        assert_eq!(q.to_string(), "OR HEADER A \"1\" OR HEADER B \"2\" FROM \"c@d\"");
        assert_eq!(Query::any([None]), None);
    }

    #[test]
    fn days_are_civil_days() {
        assert_eq!(since(0), "SINCE 1-Jan-1970");
        assert_eq!(since(951_782_400), "SINCE 29-Feb-2000");
        assert_eq!(since(1_793_610_000), "SINCE 2-Nov-2026");
        assert_eq!(since(-1), "SINCE 31-Dec-1969");
    }
}
