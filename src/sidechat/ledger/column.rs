//! Domain values as columns.

use crate::model::js_string::{JsStr, JsString};
use crate::sidechat::chat::Status;
use crate::sidechat::fold::{Standing, State};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// A JavaScript string as a column of the type `ANY`: text, and only where unpaired surrogates make that
/// impossible a blob of its UTF-16 units, the low byte first. A string has one form, so equality is that of
/// the strings.
pub(super) struct Js(pub(super) JsString);

impl ToSql for Js {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0.to_str() {
            Some(text) => text.into(),
            None => self.0.units().flat_map(u16::to_le_bytes).collect::<Vec<u8>>().into(),
        })
    }
}

impl FromSql for Js {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Text(_) => Ok(Js(JsStr::from(value.as_str()?).into_owned())),
            ValueRef::Blob(bytes) if bytes.len().is_multiple_of(2) => {
                let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
                Ok(Js(units.collect()))
            }
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

/// A column that holds one of a few words.
macro_rules! words {
    ($type:ty) => {
        impl ToSql for $type {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.name().into())
            }
        }

        impl FromSql for $type {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let word = value.as_str()?;
                <$type>::ALL.into_iter().find(|known| known.name() == word).ok_or(FromSqlError::InvalidType)
            }
        }
    };
}

words!(Status);
words!(State);
words!(Standing);
