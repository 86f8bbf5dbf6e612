//! Copies that take a collection's place.
//!
//! A name is a collection of the server, or an alias of one that a copy made, which is called `~copy.NUMBER.NAME`. Every copy
//! has the number after the one that the alias stands for: one that broke off is found again, and no number means two copies.
//! The server changes an alias in one step. Readers and writers look up once what a name stands for and stay with it, so that
//! none sees a part of both. What an alias stood for is removed at once: who still reads it learns that it is gone, and looks
//! the name up again.

use qdrant_client::qdrant::alias_operations::Action;
use qdrant_client::qdrant::{
    AliasOperations, ChangeAliases, CreateAlias, DeleteAlias, DeleteCollection, ListAliasesRequest,
};

use super::Inner;
use crate::backend::StoreError;

/// What the name of a copy begins with: no request can name it.
pub(super) const COPY: &str = "~copy.";

impl Inner {
    /// The collection that a name stands for: itself, unless it is an alias.
    pub(super) async fn real(&self, name: &str) -> Result<String, StoreError> {
        let mut aliases = self.aliases().await?.into_iter();
        let found = aliases.find(|(alias, _)| alias == name);
        Ok(found.map_or_else(|| name.to_owned(), |(_, real)| real))
    }

    /// The aliases, each with what it stands for.
    pub(super) async fn aliases(&self) -> Result<Vec<(String, String)>, StoreError> {
        let list = |request| {
            let mut client = self.client.collections();
            async move { client.list_aliases(request).await }
        };
        let listed = self
            .client
            .call("list the aliases", "", ListAliasesRequest {}, list)
            .await?;
        let own = |name: &str| Some(name.strip_prefix(&self.settings.prefix)?.to_owned());
        let aliases = listed.aliases.iter();
        let aliases = aliases.filter_map(|known| Some((own(&known.alias_name)?, own(&known.collection_name)?)));
        Ok(aliases.collect())
    }

    /// The name of the copy that is to become `name`.
    pub(super) async fn draft(&self, name: &str) -> Result<String, StoreError> {
        let real = self.real(name).await?;
        match number(&real, name) {
            Some(number) => Ok(format!("{COPY}{}.{name}", number + 1)),
            None if self.listed().await?.iter().any(|known| known == name) => {
                Err(StoreError::Occupied { name: name.to_owned() })
            }
            None => Ok(format!("{COPY}1.{name}")),
        }
    }

    /// Makes a name stand for a copy, and removes what it stood for.
    pub(super) async fn publish(&self, draft: &str, name: &str) -> Result<(), StoreError> {
        self.described(draft).await?;
        self.point(name, draft).await?;
        for copy in self.copies(name).await? {
            if copy == draft {
                continue;
            }
            if let Err(error) = self.remove_collection(&copy).await {
                tracing::warn!(
                    error = emend_core::error_chain(&error),
                    "a replaced copy is removed by the next one, or with its collection"
                );
            }
        }
        Ok(())
    }

    /// All collections that copies of a name are in, or were left in.
    pub(super) async fn copies(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let listed = self.listed().await?.into_iter();
        Ok(listed.filter(|known| number(known, name).is_some()).collect())
    }

    /// Makes an alias stand for a collection, whatever it stood for.
    async fn point(&self, alias: &str, to: &str) -> Result<(), StoreError> {
        let is_known = self.aliases().await?.iter().any(|(known, _)| known == alias);
        let alias_name = self.full(alias);
        let delete = is_known.then(|| {
            Action::DeleteAlias(DeleteAlias {
                alias_name: alias_name.clone(),
            })
        });
        let create = Action::CreateAlias(CreateAlias {
            collection_name: self.full(to),
            alias_name,
        });
        let actions = delete.into_iter().chain([create]);
        let request = ChangeAliases {
            actions: actions.map(|action| AliasOperations { action: Some(action) }).collect(),
            ..ChangeAliases::default()
        };
        let change = |request| {
            let mut client = self.client.collections();
            async move { client.update_aliases(request).await }
        };
        self.client
            .call("change an alias", alias, request, change)
            .await
            .map(drop)
    }

    /// Removes a collection of the server with its aliases. It may be gone already.
    pub(super) async fn remove_collection(&self, name: &str) -> Result<(), StoreError> {
        let request = DeleteCollection {
            collection_name: self.full(name),
            ..DeleteCollection::default()
        };
        let delete = |request| {
            let mut client = self.client.collections();
            async move { client.delete(request).await }
        };
        let deleted = self.client.call("remove a collection", name, request, delete).await;
        self.forget(name);
        match deleted {
            // The answer to the first try was lost.
            Ok(_) | Err(StoreError::UnknownCollection { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The number of a copy of `name`; `None` if it is none.
fn number(copy: &str, name: &str) -> Option<u64> {
    let (number, of) = copy.strip_prefix(COPY)?.split_once('.')?;
    number.parse().ok().filter(|_| of == name)
}
