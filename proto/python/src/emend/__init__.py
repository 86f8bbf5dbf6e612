"""Client of Emend. `emend.v1` has the messages and stubs of its contracts."""

from emend._aio import AsyncClient
from emend._channel import Address
from emend._client import Client
from emend._errors import Explained, explain

__all__ = ["Address", "AsyncClient", "Client", "Explained", "explain"]
