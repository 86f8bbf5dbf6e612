//! The chat template of a model: a conversation as the text that it was trained on.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, ErrorKind, context};

use crate::chat::{Message, Role};

/// What Qwen and SmolLM write, for files without a template.
const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n\
                      {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
const NAME: &str = "chat";

/// A template in Jinja, as the hub's tokenizers have it.
pub(super) struct Template {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

impl Template {
    /// Compiles `source`, ChatML where there is none. Templates may write the tokens `bos` and `eos`.
    ///
    /// # Errors
    /// Where the source is wrong, in words.
    pub(super) fn new(source: Option<&str>, bos: String, eos: String) -> Result<Self, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| error.to_string())?);
        // Templates call the methods of Python's strings.
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

    /// The conversation up to where the model is to speak.
    ///
    /// A template that refuses a system message gets it in front of what the user says first.
    ///
    /// # Errors
    /// What the template says against the conversation.
    pub(super) fn render(&self, messages: &[Message]) -> Result<String, String> {
        self.render_as_is(messages).or_else(|refusal| match joined(messages) {
            Some(messages) => self.render_as_is(&messages),
            None => Err(refusal),
        })
    }

    fn render_as_is(&self, messages: &[Message]) -> Result<String, String> {
        let template = self.environment.get_template(NAME);
        let rendered = template.and_then(|template| {
            template.render(context! {
                messages => Value::from(Serde(messages)),
                add_generation_prompt => true,
                // Models that can think aloud before they answer: a grade is one word, and words take time here.
                enable_thinking => false,
                bos_token => self.bos.as_str(),
                eos_token => self.eos.as_str(),
            })
        });
        rendered.map_err(|error| format!("its chat template refuses the conversation: {error}"))
    }
}

/// The conversation without its system message, which begins what the user says first; none where there is no such pair.
fn joined(messages: &[Message]) -> Option<Vec<Message>> {
    let (system, rest) = messages.split_first()?;
    let (first, rest) = rest.split_first()?;
    (system.role == Role::System && first.role == Role::User).then(|| {
        let user = Message::user(format!("{}\n\n{}", system.content, first.content));
        std::iter::once(user).chain(rest.iter().cloned()).collect()
    })
}

#[cfg(test)]
mod tests;
