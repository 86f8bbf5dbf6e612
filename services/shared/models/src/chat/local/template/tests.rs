use super::*;

fn conversation() -> Vec<Message> {
    vec![
        Message::system("Be brief."),
        Message::user("Hello"),
        Message::assistant("Hi"),
        Message::user("Bye"),
    ]
}

fn rendered(source: Option<&str>) -> Result<String, String> {
    Template::new(source, "<s>".to_owned(), "</s>".to_owned())?.render(&conversation())
}

#[test]
fn without_a_template_it_is_chatml() {
    assert_eq!(
        rendered(None).unwrap(),
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n\
             <|im_start|>assistant\nHi<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn python_syntax_of_templates_is_supported() {
    let source = "{{ bos_token }}{%- set ns = namespace(last=none) %}
            {%- for m in messages[::-1] %}
                {%- if ns.last is none and m.role == 'user' and m.content is string %}
                    {%- set ns.last = (messages | length - 1) - loop.index0 %}
                {%- endif %}
            {%- endfor %}
            {%- for m in messages[1:] %}
                {%- if m['content'].startswith('H') and not loop.first %}{{ m.content.upper().strip() }}
                {%- else %}{{ m | tojson }}{% endif %}
            {%- endfor %}{{ ns.last }}{{ eos_token if not enable_thinking }}";
    assert_eq!(
        rendered(Some(source)).unwrap(),
        r#"<s>{"role": "user", "content": "Hello"}HI{"role": "user", "content": "Bye"}3</s>"#
    );
}

#[test]
fn a_template_without_system_role_gets_it_in_the_first_user_message() {
    let source = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}\
                      {{ messages[0].content }}";
    assert_eq!(rendered(Some(source)).unwrap(), "Be brief.\n\nHello");
    let never = "{{ raise_exception('roles must alternate') }}";
    assert!(rendered(Some(never)).unwrap_err().contains("roles must alternate"));
}

#[test]
fn an_invalid_template_is_an_error() {
    assert!(rendered(Some("{% for %}")).is_err());
}
