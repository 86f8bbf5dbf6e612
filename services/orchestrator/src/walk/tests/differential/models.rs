//! The graphs as the design describes them, written out as programs. They share nothing with the graph files.

use emend_proto::v1::WalkStatus::{Abstained, Answered, Ungrounded, Unverified};

use super::{
    script::Script,
    world::{Decided, Ended, Found, Judged, Kept, Limits, Status, World, Wrote},
};

type Walk = Result<Ended, Ended>;
/// A graph as a program.
type Model = fn(&mut World, Limits) -> Walk;

/// Every graph with its model.
pub(super) const MODELS: [(&str, Model); 8] = [
    ("plain-rag", plain_rag),
    ("self-rag", self_rag),
    ("self-rag-final-grade", self_rag_final_grade),
    ("self-rag-tutorial", self_rag_tutorial),
    ("corrective-rag", corrective_rag),
    ("corrective-rag-binary", corrective_rag_binary),
    ("self-corrective-rag", self_corrective_rag),
    ("self-reflective-rag", self_reflective_rag),
];

/// The nodes a walk of that graph visits by its model, and how it ends.
pub(super) fn walk(graph: &str, script: &Script, limits: Limits) -> (Vec<&'static str>, Status) {
    let (_, model) = MODELS.iter().find(|(name, _)| *name == graph).unwrap();
    // Where the design gives a graph no limit to set, its own 50 steps hold or its edges bound it anyway.
    let recursion = match graph {
        "plain-rag" | "corrective-rag" | "corrective-rag-binary" => Some(50),
        "self-reflective-rag" => None,
        _ => Some(limits.recursion),
    };
    let mut world = World::new(script, limits, recursion);
    let (Ok(Ended) | Err(Ended)) = model(&mut world, limits);
    world.end()
}

fn plain_rag(world: &mut World, _: Limits) -> Walk {
    world.step("retrieve", Unverified)?;
    if world.retrieve() != Found::Some {
        return Ok(world.finish(Abstained));
    }
    world.step("generate", Unverified)?;
    Ok(match world.generate() {
        Wrote::Answer => world.finish(Unverified),
        _ => world.finish(Abstained),
    })
}

fn self_rag(world: &mut World, limits: Limits) -> Walk {
    let (mut gradings, mut generations) = (0, 0);
    loop {
        world.step("retrieve", Unverified)?;
        if world.retrieve() == Found::Down {
            return Ok(world.finish(Unverified));
        }
        world.step("grade_documents", Unverified)?;
        gradings += 1;
        let kept = world.grade_documents();
        if matches!(kept, Kept::None | Kept::NothingNew) {
            if kept == Kept::NothingNew || gradings > limits.max_count {
                world.step("generate_without_documents", Unverified)?;
                return Ok(match world.generate_from_nothing() {
                    Wrote::Answer => world.finish(Ungrounded),
                    _ => world.finish(Abstained),
                });
            }
        } else {
            // Until the answer passes or another query is due.
            loop {
                world.step("generate", Unverified)?;
                generations += 1;
                let another_query = match world.generate() {
                    Wrote::Answer => {
                        world.step("grade_generation", Unverified)?;
                        match world.grade_answer() {
                            (Some(false), _) => false,
                            (_, Some(false)) => true,
                            (Some(true), Some(true)) => return Ok(world.finish(Answered)),
                            _ => return Ok(world.finish(Unverified)),
                        }
                    }
                    Wrote::Abstained => return Ok(world.finish(Abstained)),
                    Wrote::Stalled => true,
                    Wrote::NothingToWriteFrom | Wrote::Down => return Ok(world.finish(Unverified)),
                };
                if generations > limits.max_retries {
                    return Ok(world.finish(Unverified));
                }
                if another_query {
                    break;
                }
            }
        }
        world.step("rewrite", Unverified)?;
        if world.rewrite() != Found::Some {
            return Ok(world.finish(Unverified));
        }
    }
}

fn self_rag_tutorial(world: &mut World, _: Limits) -> Walk {
    loop {
        world.step("retrieve", Unverified)?;
        if world.retrieve() == Found::Down {
            return Ok(world.finish(Unverified));
        }
        world.step("grade_documents", Unverified)?;
        let mut helped = match world.grade_documents() {
            Kept::NothingNew => return Ok(world.finish(Unverified)),
            kept => kept != Kept::None,
        };
        while helped {
            world.step("generate", Unverified)?;
            match world.generate() {
                Wrote::Answer => {}
                Wrote::Abstained => return Ok(world.finish(Abstained)),
                Wrote::Down => return Ok(world.finish(Unverified)),
                Wrote::Stalled | Wrote::NothingToWriteFrom => break,
            }
            world.step("grade_generation", Unverified)?;
            match world.grade_answer() {
                (Some(false), _) => {}
                (_, Some(false)) => helped = false,
                (Some(true), Some(true)) => return Ok(world.finish(Answered)),
                _ => return Ok(world.finish(Unverified)),
            }
        }
        world.step("transform_query", Unverified)?;
        if world.rewrite() != Found::Some {
            return Ok(world.finish(Unverified));
        }
    }
}

fn self_rag_final_grade(world: &mut World, _: Limits) -> Walk {
    loop {
        world.step("retrieve", Abstained)?;
        if world.retrieve() == Found::Down {
            return Ok(world.finish(Unverified));
        }
        world.step("grade_documents", Abstained)?;
        let mut helped = match world.grade_documents() {
            Kept::NothingNew => return Ok(world.finish(Abstained)),
            kept => kept != Kept::None,
        };
        while helped {
            world.step("generate", Abstained)?;
            match world.generate() {
                Wrote::Answer => {}
                Wrote::Abstained => return Ok(world.finish(Abstained)),
                Wrote::Down => return Ok(world.finish(Unverified)),
                Wrote::Stalled | Wrote::NothingToWriteFrom => break,
            }
            world.step("grade_groundedness", Abstained)?;
            match world.is_supported() {
                Some(true) => {}
                Some(false) => continue,
                None => return Ok(world.finish(Unverified)),
            }
            world.step("prepare_for_final_grade", Abstained)?;
            world.step("grade_usefulness", Abstained)?;
            match world.is_useful() {
                Some(true) => return Ok(world.finish(Answered)),
                Some(false) => helped = false,
                None => return Ok(world.finish(Unverified)),
            }
        }
        world.step("transform_query", Abstained)?;
        if world.rewrite() != Found::Some {
            return Ok(world.finish(Abstained));
        }
    }
}

/// Graded once; there is no second try.
fn answer_once(world: &mut World) -> Walk {
    world.step("generate", Unverified)?;
    match world.generate() {
        Wrote::Answer => {}
        _ => return Ok(world.finish(Abstained)),
    }
    world.step("grade_generation", Unverified)?;
    Ok(match world.grade_answer() {
        (Some(true), Some(true)) => world.finish(Answered),
        _ => world.finish(Unverified),
    })
}

fn corrective_rag(world: &mut World, limits: Limits) -> Walk {
    world.step("retrieve", Unverified)?;
    let judged = match world.retrieve() {
        Found::Some => {
            world.step("evaluate", Unverified)?;
            world.evaluate()
        }
        // Nothing to be correct.
        Found::None | Found::Down => Judged::Incorrect,
    };
    let to_refine = match judged {
        Judged::Correct => true,
        Judged::Incorrect => {
            world.step("rewrite_for_web", Unverified)?;
            world.rewrite();
            world.step("web_search", Unverified)?;
            world.search(limits.top_k) == Found::Some
        }
        Judged::Ambiguous | Judged::Ungraded => {
            world.step("refine_and_search", Unverified)?;
            let refined = world.refine();
            world.rewrite();
            let found = world.search(limits.top_k);
            if (refined, found) != (Found::Down, Found::Down) {
                world.made_up_for();
            }
            match found {
                Found::Some => true,
                Found::Down if refined == Found::Down => false,
                _ if world.holds_something() => false,
                _ => return Ok(world.finish(Abstained)),
            }
        }
    };
    if to_refine {
        world.step("refine", Unverified)?;
        if world.refine() == Found::None {
            return Ok(world.finish(Abstained));
        }
    }
    answer_once(world)
}

fn corrective_rag_binary(world: &mut World, _: Limits) -> Walk {
    world.step("retrieve", Unverified)?;
    let enough = match world.retrieve() {
        Found::Some => {
            world.step("grade_documents", Unverified)?;
            world.grade_documents() == Kept::All
        }
        Found::None | Found::Down => false,
    };
    if !enough {
        world.step("rewrite_for_web", Unverified)?;
        world.rewrite();
        world.step("web_search", Unverified)?;
        if world.fill_up_from_the_web() == Found::Some {
            world.step("grade_web_results", Unverified)?;
            if matches!(world.grade_documents(), Kept::None | Kept::NothingNew) {
                return Ok(world.finish(Abstained));
            }
        }
    }
    answer_once(world)
}

/// Where Self-Corrective RAG goes next.
enum Next {
    Write,
    /// The documents with another query, if any is left.
    SearchAgain,
    Web,
    End,
}

fn self_corrective_rag(world: &mut World, limits: Limits) -> Walk {
    let (mut generations, mut rewrites, mut wide, mut webs) = (0, 0, 0, 0);
    world.step("retrieve", Unverified)?;
    let mut found = Some(world.retrieve());
    let mut next = Next::Write;
    loop {
        if let Some(found) = found.take() {
            next = match found {
                Found::Down => Next::Web,
                Found::None => Next::SearchAgain,
                Found::Some => {
                    world.step("grade_documents", Unverified)?;
                    match world.grade_documents() {
                        Kept::None => Next::SearchAgain,
                        Kept::NothingNew => Next::Web,
                        Kept::All | Kept::Some | Kept::Ungraded => Next::Write,
                    }
                }
            };
        }
        // Another query, if the limit leaves one; a search of the web otherwise.
        let mut rewrite = false;
        match next {
            Next::End => break,
            Next::SearchAgain if rewrites < limits.max_rewrites => rewrite = true,
            Next::SearchAgain | Next::Web => {
                if webs >= limits.web_fallback {
                    break;
                }
                webs += 1;
                world.step("web_search", Unverified)?;
                if world.search(limits.top_k) != Found::Some {
                    break;
                }
                world.step("grade_web_results", Unverified)?;
                if matches!(world.grade_documents(), Kept::None | Kept::NothingNew) {
                    break;
                }
            }
            Next::Write => {}
        }
        if !rewrite {
            world.step("generate", Unverified)?;
            generations += 1;
            next = match world.generate() {
                Wrote::Down => Next::End,
                Wrote::Abstained => Next::SearchAgain,
                Wrote::Stalled | Wrote::NothingToWriteFrom => Next::Web,
                Wrote::Answer => {
                    world.step("grade_generation", Unverified)?;
                    let again = generations <= limits.max_retries;
                    match world.grade_answer() {
                        (Some(false), _) if again => Next::Write,
                        (_, Some(false)) if again => {
                            rewrite = true;
                            Next::Write
                        }
                        (Some(false), _) | (_, Some(false)) => Next::Web,
                        _ => Next::End,
                    }
                }
            };
        }
        if rewrite {
            world.step("rewrite", Unverified)?;
            rewrites += 1;
            // Without another query, more passages of the last one are worth one search.
            if world.rewrite() == Found::Some || wide == 0 {
                world.step("retrieve_more", Unverified)?;
                wide += 1;
                found = Some(world.retrieve_so_many(limits.wide_top_k));
            } else {
                next = Next::Web;
            }
        }
    }
    world.step("finalize_response", Unverified)?;
    Ok(world.finalize())
}

fn self_reflective_rag(world: &mut World, limits: Limits) -> Walk {
    for depth in 0..limits.max_depth {
        world.step("decide_retrieval", Unverified)?;
        let decided = world.decide();
        match decided {
            Decided::Continue => {}
            Decided::No if depth == 0 => {
                world.step("generate_without_documents", Unverified)?;
                return Ok(match world.generate_from_nothing() {
                    Wrote::Answer => world.finish(Ungrounded),
                    _ => world.finish(Abstained),
                });
            }
            Decided::Ungraded if depth == 0 => {}
            Decided::No | Decided::Ungraded => break,
            Decided::Yes => {}
        }
        if decided != Decided::Continue {
            world.step("retrieve", Unverified)?;
            if world.retrieve() != Found::Some {
                break;
            }
        }
        world.step("generate_segment", Unverified)?;
        if !world.segment() {
            break;
        }
    }
    world.step("finalize_response", Unverified)?;
    Ok(world.finalize())
}
