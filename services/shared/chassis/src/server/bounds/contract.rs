//! What the calls of a server take, read from its descriptors: by them is known what memory a request needs before it is
//! built.

use std::collections::{BTreeMap, HashMap};

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// Bytes of a text, and of a list, in the message that has it.
const TEXT_BYTES: usize = 24;
/// Bytes of a map in the message that has it.
const MAP_BYTES: usize = 48;
/// Bytes of a number; one that may be unset has as many again.
const NUMBER_BYTES: usize = 8;
/// A list that grows doubles, and a map has room to spare: this many times what their elements need.
const GROWTH: usize = 2;
/// Messages in messages that are looked into for their size; one that contains itself is on the heap there.
const MAX_NESTING: usize = 8;

/// The methods of a server and the messages that they take.
#[derive(Debug, Default)]
pub(super) struct Contract {
    methods: HashMap<String, Method>,
    messages: Vec<Fields>,
}

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Method {
    /// Its request, an index of a message.
    pub(super) request: usize,
    pub(super) client_streaming: bool,
}

/// The fields of a message, by number.
type Fields = BTreeMap<u32, Field>;

/// A field of a message that can be there any number of times, or has such a field in it.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Bytes that one more of it adds to the memory of the message around it, its texts apart. None for what is not
    /// repeated: its place is in that message.
    pub(super) memory: usize,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, or a message with nothing in it that is counted.
    Bytes,
    /// A message to look into, an index.
    Message(usize),
    /// A list of numbers, each of at least so many bytes.
    Numbers(usize),
}

impl Contract {
    /// Reads encoded descriptor sets. What is none adds nothing: reflection, which is told them too, refuses them.
    pub(super) fn of(descriptors: &[Vec<u8>]) -> Self {
        let sets = descriptors
            .iter()
            .filter_map(|set| FileDescriptorSet::decode(&**set).ok());
        let files: Vec<_> = sets.flat_map(|set| set.file).collect();
        let mut named = Vec::new();
        for file in &files {
            let scope = match file.package() {
                "" => String::new(),
                package => format!(".{package}"),
            };
            collect(&scope, &file.message_type, &mut named);
        }
        let places: HashMap<_, _> = named
            .iter()
            .enumerate()
            .map(|(place, (name, _))| (&**name, place))
            .collect();
        let all: Vec<_> = named.iter().map(|(_, message)| *message).collect();
        let sizes = Sizes {
            all: &all,
            places: &places,
        };
        let fields = |message: &DescriptorProto| {
            let fields = message.field.iter().filter_map(|field| sizes.read(field));
            fields.collect()
        };
        let messages = all.iter().map(|message| fields(message)).collect();
        let mut methods = HashMap::new();
        for file in &files {
            for service in &file.service {
                for method in &service.method {
                    if let Some(&request) = places.get(method.input_type()) {
                        let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                        let client_streaming = method.client_streaming();
                        methods.insert(
                            path,
                            Method {
                                request,
                                client_streaming,
                            },
                        );
                    }
                }
            }
        }
        Self { methods, messages }
    }

    /// The method at a path such as `/emend.v1.GraderService/GradeDocuments`; none for health checks and reflection.
    pub(super) fn method(&self, path: &str) -> Option<Method> {
        self.methods.get(path).copied()
    }

    /// A field of a message.
    pub(super) fn field(&self, message: usize, number: u32) -> Option<&Field> {
        self.messages.get(message)?.get(&number)
    }
}

/// Collects messages and those nested in them, by full name with a dot in front, as fields refer to them.
fn collect<'a>(scope: &str, messages: &'a [DescriptorProto], named: &mut Vec<(String, &'a DescriptorProto)>) {
    for message in messages {
        let name = format!("{scope}.{}", message.name());
        collect(&name, &message.nested_type, named);
        named.push((name, message));
    }
}

/// Knows the messages while their fields are read.
struct Sizes<'a> {
    all: &'a [&'a DescriptorProto],
    places: &'a HashMap<&'a str, usize>,
}

impl Sizes<'_> {
    fn read(&self, field: &FieldDescriptorProto) -> Option<(u32, Field)> {
        let repeated = field.label() == Label::Repeated;
        let (kind, size) = match field.r#type() {
            Type::Message => {
                let message = *self.places.get(field.type_name())?;
                let kind = match self.grows(message, 0) {
                    true => Kind::Message(message),
                    false => Kind::Bytes,
                };
                (kind, self.message(message, 0))
            }
            Type::String | Type::Bytes => (Kind::Bytes, TEXT_BYTES),
            // One number is no list.
            _ if !repeated => return None,
            Type::Double | Type::Fixed64 | Type::Sfixed64 => (Kind::Numbers(8), NUMBER_BYTES),
            Type::Float | Type::Fixed32 | Type::Sfixed32 => (Kind::Numbers(4), NUMBER_BYTES),
            _ => (Kind::Numbers(1), NUMBER_BYTES),
        };
        if !repeated && kind == Kind::Bytes {
            return None;
        }
        let name = field.name().to_owned();
        let memory = if repeated { GROWTH * size } else { 0 };
        Some((u32::try_from(field.number()).ok()?, Field { name, kind, memory }))
    }

    /// Whether there is anything in a message that can be there any number of times.
    fn grows(&self, place: usize, depth: usize) -> bool {
        let fields = self.all.get(place).map_or(&[][..], |message| &message.field);
        fields.iter().any(|field| {
            let inner = self.places.get(field.type_name()).filter(|_| depth < MAX_NESTING);
            // One that goes deeper than is looked may have something there.
            field.label() == Label::Repeated
                || field.r#type() == Type::Message && inner.is_none_or(|inner| self.grows(*inner, depth + 1))
        })
    }

    /// Bytes of a message, at least what prost's struct of it has.
    fn message(&self, place: usize, depth: usize) -> usize {
        let fields = self.all.get(place).map_or(&[][..], |message| &message.field);
        fields.iter().map(|field| self.field(field, depth)).sum()
    }

    fn field(&self, field: &FieldDescriptorProto, depth: usize) -> usize {
        let message = self.places.get(field.type_name()).copied();
        match (field.r#type(), message) {
            (Type::Message, Some(message)) if field.label() == Label::Repeated => {
                let options = self.all.get(message).and_then(|message| message.options.as_ref());
                if options.is_some_and(prost_types::MessageOptions::map_entry) {
                    MAP_BYTES
                } else {
                    TEXT_BYTES
                }
            }
            (Type::Message, Some(message)) if depth < MAX_NESTING => NUMBER_BYTES + self.message(message, depth + 1),
            (Type::Message | Type::String | Type::Bytes, _) => TEXT_BYTES,
            _ if field.label() == Label::Repeated => TEXT_BYTES,
            _ => 2 * NUMBER_BYTES,
        }
    }
}

#[cfg(test)]
mod tests;
