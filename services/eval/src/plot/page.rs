//! Pages of HTML.

use anyhow::{Context as _, Result};
use minijinja::{Environment, UndefinedBehavior, value::Serde};
use serde::Serialize;

/// Renders a template that extends `page.html`: it fills the blocks `title` and `body`, and may import `plot` and
/// `table` from `figure.html`. All that `context` says is escaped but the plots themselves.
///
/// # Errors
/// The template does not parse, or names what `context` does not hold.
pub(crate) fn page(template: &str, context: &impl Serialize) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_template("page.html", include_str!("page.html.jinja"))?;
    environment.add_template("figure.html", include_str!("figure.html.jinja"))?;
    environment.add_template("body.html", template)?;
    let body = environment.get_template("body.html")?;
    body.render(Serde(context)).context("a page cannot be rendered")
}
