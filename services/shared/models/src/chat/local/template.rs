//! Chat templates: render a conversation in the format that the model was trained on.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, ErrorKind, context};

use crate::chat::{Message, Role};

/// ChatML, the format of Qwen and SmolLM. Used for files without a template.
const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n\
                      {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
const NAME: &str = "chat";

/// A Jinja chat template, as in the `tokenizer_config.json` of Hugging Face models.
pub(super) struct Template {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

impl Template {
    /// Compiles `source`, or ChatML if it is `None`. Templates can use the tokens `bos` and `eos`.
    ///
    /// # Errors
    /// The message of the template engine if `source` does not parse.
    pub(super) fn new(source: Option<&str>, bos: String, eos: String) -> Result<Self, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| error.to_string())?);
        // Templates call methods of Python strings.
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |reason: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, reason))
        });
        environment.add_function("strftime_now", |format: String| {
            jiff::fmt::strtime::format(&format, &jiff::Zoned::now())
                .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
        });
        environment
            .add_template_owned(NAME, source.unwrap_or(CHATML).to_owned())
            .map_err(|error| error.to_string())?;
        Ok(Self { environment, bos, eos })
    }

    /// Renders the conversation, followed by the generation prompt.
    ///
    /// If the template rejects the system message, it is prepended to the first user message.
    ///
    /// # Errors
    /// The message with which the template rejects the conversation.
    pub(super) fn render(&self, messages: &[Message]) -> Result<String, String> {
        self.render_as_is(messages)
            .or_else(|error| match merge_system_message(messages) {
                Some(messages) => self.render_as_is(&messages),
                None => Err(error),
            })
    }

    fn render_as_is(&self, messages: &[Message]) -> Result<String, String> {
        let template = self.environment.get_template(NAME);
        let rendered = template.and_then(|template| {
            template.render(context! {
                messages => Value::from(Serde(messages)),
                add_generation_prompt => true,
                // No reasoning: a grade is one word, and each token is slow on a CPU.
                enable_thinking => false,
                bos_token => self.bos.as_str(),
                eos_token => self.eos.as_str(),
            })
        });
        rendered.map_err(|error| format!("the chat template rejects the conversation: {error}"))
    }
}

/// Merges the system message into the user message that follows it. `None` if the conversation does not begin with
/// both.
fn merge_system_message(messages: &[Message]) -> Option<Vec<Message>> {
    let (system, rest) = messages.split_first()?;
    let (first, rest) = rest.split_first()?;
    (system.role == Role::System && first.role == Role::User).then(|| {
        let user = Message::user(format!("{}\n\n{}", system.content, first.content));
        std::iter::once(user).chain(rest.iter().cloned()).collect()
    })
}

#[cfg(test)]
mod tests;
