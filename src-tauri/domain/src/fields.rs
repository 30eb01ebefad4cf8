//! Reading a JSON object field by field. What nobody asked for is refused by name, so that a misspelt field is an error
//! and not a silent loss.

use crate::json::FieldError;
use crate::size::size_in_words;
use serde_json::{Map, Value};

/// An object of a document. Paths of errors are relative to it; the caller puts its own path in front.
pub(crate) struct Fields<'v> {
    map: &'v Map<String, Value>,
}

pub(crate) fn wrong(field: &str, reason: impl Into<String>) -> FieldError {
    FieldError::new(field, reason)
}

/// The word for a value's kind, for errors that may not repeat the value itself.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(crate) fn expected(field: &str, what: &str, got: &Value) -> FieldError {
    wrong(field, format!("{what} is expected, not {}", kind(got)))
}

impl<'v> Fields<'v> {
    /// The object `value`, in which only `names` may occur.
    pub(crate) fn of(value: &'v Value, names: &[&str]) -> Result<Fields<'v>, FieldError> {
        let map = value.as_object().ok_or_else(|| expected("", "an object", value))?;
        match map.keys().find(|key| !names.contains(&key.as_str())) {
            Some(key) => Err(wrong(key, format!("unknown field; known here: {}", names.join(", ")))),
            None => Ok(Fields { map }),
        }
    }

    /// The field, unless it is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'v Value> {
        self.map.get(name).filter(|v| !v.is_null())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    pub(crate) fn required(&self, name: &str) -> Result<&'v Value, FieldError> {
        match self.map.get(name) {
            None => Err(wrong(name, "is missing")),
            Some(Value::Null) => Err(wrong(name, "is null, but needed")),
            Some(value) => Ok(value),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'v str>, FieldError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(expected(name, "a string", other)),
        }
    }

    pub(crate) fn required_text(&self, name: &str) -> Result<&'v str, FieldError> {
        self.required(name)?;
        Ok(self.text(name)?.unwrap_or_default())
    }

    /// A text in which something must be said.
    pub(crate) fn filled_text(&self, name: &str) -> Result<&'v str, FieldError> {
        let text = self.required_text(name)?;
        if text.trim().is_empty() { Err(wrong(name, "is empty")) } else { Ok(text) }
    }

    pub(crate) fn list(&self, name: &str) -> Result<&'v [Value], FieldError> {
        match self.get(name) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(expected(name, "a list", other)),
        }
    }
}

/// Path of an item of a list.
pub(crate) fn item(name: &str, index: usize) -> String {
    format!("{name}[{index}]")
}

pub(crate) fn at_most(name: &str, text: &str, bytes: usize) -> Result<(), FieldError> {
    if text.len() > bytes {
        let (is, most) = (size_in_words(text.len() as u64), size_in_words(bytes as u64));
        return Err(wrong(name, format!("is {is} long; at most {most} are taken")));
    }
    Ok(())
}
