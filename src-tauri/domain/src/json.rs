//! Strict JSON. What is hashed must be what is parsed and what is shown, so everything on which parsers differ is refused
//! at the door: duplicate keys, numbers beyond 53-bit integers, invalid UTF-8, NUL.

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

/// Why a document was refused, and where. `field` is a path such as `actions[0].payload.to[1].email`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}{}{reason}", if field.is_empty() { "" } else { ": " })]
pub struct FieldError {
    pub field: String,
    pub reason: String,
}

impl FieldError {
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        FieldError { field: field.into(), reason: reason.into() }
    }
    /// The same error, seen from further out.
    pub fn within(self, outer: &str) -> Self {
        let field = match (outer, self.field.as_str()) {
            ("", f) => f.to_owned(),
            (o, "") => o.to_owned(),
            (o, f) if f.starts_with('[') => format!("{o}{f}"),
            (o, f) => format!("{o}.{f}"),
        };
        FieldError { field, reason: self.reason }
    }
}

/// Largest integer every JSON parser reads exactly: 2^53 − 1.
pub const MAX_SAFE: u64 = (1 << 53) - 1;

/// Parses `bytes` strictly.
pub fn parse(bytes: &[u8]) -> Result<Value, FieldError> {
    strictly(bytes, Context::default())
}

/// The same for what a destination answered, which is judged and not hashed: numbers are taken as they come.
pub fn parse_answer(bytes: &[u8]) -> Result<Value, FieldError> {
    strictly(bytes, Context { any_number: true, ..Context::default() })
}

fn strictly(bytes: &[u8], context: Context) -> Result<Value, FieldError> {
    let text = std::str::from_utf8(bytes).map_err(|e| not_utf8(bytes, e.valid_up_to()))?;
    if text.trim().is_empty() {
        return Err(FieldError::new("", "there is nothing: the document is empty"));
    }
    let mut de = serde_json::Deserializer::from_str(text);
    let value = Strict(&context).deserialize(&mut de).map_err(|e| context.error(&e.to_string()))?;
    de.end().map_err(|e| FieldError::new("", e.to_string()))?;
    Ok(value)
}

/// Read up to where it breaks, so that the field can be named.
fn not_utf8(bytes: &[u8], at: usize) -> FieldError {
    let context = Context::default();
    let _ = Strict(&context).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    let refused = context.refused.borrow_mut().take();
    refused.unwrap_or_else(|| FieldError::new(context.at(), format!("not valid UTF-8 at byte {at}")))
}

/// The path to the value being read, and the first refusal of ours, which serde would otherwise turn into prose.
#[derive(Default)]
struct Context {
    path: RefCell<Vec<String>>,
    refused: RefCell<Option<FieldError>>,
    any_number: bool,
}

impl Context {
    fn at(&self) -> String {
        self.path.borrow().concat().trim_start_matches('.').to_owned()
    }
    fn refuse<E: serde::de::Error>(&self, reason: String) -> E {
        let error = E::custom(&reason);
        self.refused.borrow_mut().get_or_insert(FieldError::new(self.at(), reason));
        error
    }
    fn error(&self, message: &str) -> FieldError {
        self.refused.borrow_mut().take().unwrap_or_else(|| FieldError::new(self.at(), message))
    }
    fn check_text<E: serde::de::Error>(&self, text: &str) -> Result<(), E> {
        if text.contains('\0') {
            return Err(self.refuse("contains a NUL character; remove it".into()));
        }
        Ok(())
    }
}

struct Strict<'c>(&'c Context);

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;
    fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }
    fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Value, E> {
        if v.unsigned_abs() > MAX_SAFE && !self.0.any_number {
            return Err(self.0.refuse(format!("the integer {v} is beyond 53 bits; send it as a string")));
        }
        Ok(Value::Number(v.into()))
    }
    fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Value, E> {
        if v > MAX_SAFE && !self.0.any_number {
            return Err(self.0.refuse(format!("the integer {v} is beyond 53 bits; send it as a string")));
        }
        Ok(Value::Number(v.into()))
    }
    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Value, E> {
        if let Some(number) = Number::from_f64(v).filter(|_| self.0.any_number) {
            return Ok(Value::Number(number));
        }
        Err(self.0.refuse(format!("the number {v} is not an integer of at most 53 bits; send it as a string")))
    }
    fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Value, E> {
        self.0.check_text(v)?;
        Ok(Value::String(v.to_owned()))
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            self.0.path.borrow_mut().push(format!("[{}]", items.len()));
            match seq.next_element_seed(Strict(self.0))? {
                Some(item) => items.push(item),
                None => break,
            }
            self.0.path.borrow_mut().pop();
        }
        self.0.path.borrow_mut().pop();
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.0.check_text(&key)?;
            self.0.path.borrow_mut().push(format!(".{key}"));
            if object.contains_key(&key) {
                return Err(self.0.refuse("the key occurs twice; which one counts would be a guess".into()));
            }
            let value = map.next_value_seed(Strict(self.0))?;
            self.0.path.borrow_mut().pop();
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// Integers only; kept here so that nobody builds a payload number in another way.
pub fn integer(n: i64) -> Option<Number> {
    (n.unsigned_abs() <= MAX_SAFE).then(|| Number::from(n))
}
