"""OpenAI and servers that speak its protocol: live requests and batches."""
