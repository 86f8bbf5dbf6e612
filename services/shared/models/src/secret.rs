//! Keys on the command line, which are refused.

use std::convert::Infallible;
use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;

/// Refuses a key on the command line and says what to use, without repeating the key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoKeyHere(pub(crate) &'static str);

impl TypedValueParser for NoKeyHere {
    type Value = Infallible;

    fn parse_ref(
        &self,
        _: &clap::Command,
        argument: Option<&clap::Arg>,
        _: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let flag = argument.and_then(clap::Arg::get_long).unwrap_or_default();
        let message = format!(
            "--{flag} is no option any more: everybody on this machine can read the arguments of a process; {}\n",
            self.0
        );
        Err(clap::Error::raw(ErrorKind::InvalidValue, message))
    }
}
